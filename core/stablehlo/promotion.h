// Reductions whose region computes in a wider type than the operands have.
#pragma once

#include <vector>

#include "core/stablehlo/importer.h"

namespace shoal {

// Operand `i`, converted to the element type of `result`, which the region gives. InvalidArgument with the
// label of the constraint where is_promotable of the specification does not hold: the same kind of number,
// and no fewer bits; quantised ones express the same type.
absl::StatusOr<Instruction*> PromotedOperand(OpImporter& c, size_t i, const Shape& result,
                                             absl::string_view label);

// The operands of a reduction of `body`: inputs, then as many initial values.
absl::StatusOr<std::vector<Instruction*>> PromotedOperands(OpImporter& c, const Computation& body,
                                                           absl::string_view label);

}  // namespace shoal
