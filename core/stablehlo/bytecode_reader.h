// MLIR bytecode (versions 0 to 6) to the generic tree.
//
// Truncated, corrupt, unknown or hostile bytes give InvalidArgument with what and at which byte. Memory is
// never taken by a count that the remaining bytes do not bear out; nesting of attributes, types and regions
// is bounded.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// Whether `bytes` begin with the bytecode's magic number.
bool LooksLikeBytecode(absl::string_view bytes);

// The module's tree. It refers to `bytes`, which must outlive it.
absl::StatusOr<std::unique_ptr<MlirModule>> ReadMlirBytecode(absl::string_view bytes);

}  // namespace shoal
