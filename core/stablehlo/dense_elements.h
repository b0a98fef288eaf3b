// Constants as MLIR keeps them: raw bytes for a tensor type.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// A kDenseElements attribute of `module` over `blob`: row-major elements, or one element that all are equal
// to. Booleans may be eight to a byte (0xFF alone: all true); they come out one to a byte. Of an index
// tensor, eight bytes an element. InvalidArgument if the bytes do not fit the type.
absl::StatusOr<MlirAttribute*> MakeDenseElements(const MlirType& type, absl::string_view blob,
                                                 MlirModule* module);

}  // namespace shoal
