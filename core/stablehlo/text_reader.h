// StableHLO text, pretty and generic form, to the generic tree.
//
// Errors are InvalidArgument with line and column. Nesting is bounded.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// The module's tree. It refers to `text`, which must outlive it.
absl::StatusOr<std::unique_ptr<MlirModule>> ReadMlirText(absl::string_view text);

// One attribute or type, such as stands in bytecode where a dialect has no encoding of its own; the node is
// `module`'s.
absl::StatusOr<MlirAttribute*> ParseMlirAttributeText(absl::string_view text, MlirModule* module);
absl::StatusOr<MlirType*> ParseMlirTypeText(absl::string_view text, MlirModule* module);

}  // namespace shoal
