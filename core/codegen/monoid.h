// What a reduction's region computes, where it is one of the usual operations. Internal to core/codegen.
#pragma once

#include <optional>

#include "core/codegen/element.h"

namespace shoal {

// The opcode of a region that only applies one associative operation to its two parameters (add, multiply,
// maximum, minimum, and, or, xor); empty for any other region.
std::optional<Opcode> MonoidOf(const Computation& region);
// Its neutral element, in registers.
Element IdentityOf(LaneBuilder& lanes, Opcode monoid, ElementType type);
// x op y. Sums and products of narrow floats are not rounded: round once at the end.
absl::StatusOr<Element> CombineMonoid(ElementEmitter& e, const Computation& region, Opcode monoid,
                                      ElementType type, Element x, Element y);

}  // namespace shoal
