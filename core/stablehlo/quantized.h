// Operations on quantised tensors, as the specification defines them: dequantize, compute, quantize.
//
// In HLO an array of a quantised type is one of its storage type: arguments, results and constants of a
// program, and what only moves elements. Every other operation is done in the expressed type on dequantised
// operands, and its results are quantised, as their types say:
//
//   add(x: !quant.uniform<i8:f32, 0.1:-30>, y: ...)  ->  quantize(add((x - -30) * 0.1, ...))
//
// Operations with regions keep the storage type: what their regions do is done so, step by step.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// Whether `op` computes with numbers of a quantised type, operand or result.
bool ComputesQuantized(const MlirOperation& op);

// Imports such an operation by `import`, its function.
absl::Status ImportDequantized(const MlirOperation& op, RegionImporter& region,
                               std::vector<Instruction*> operands, ImportFn import);

}  // namespace shoal
