// The usual reductions (core/ops/reduction.h) in registers. Internal to core/codegen.
#pragma once

#include "core/codegen/element.h"

namespace shoal {

// ReductionIdentity of the operation over numbers of `type`, in registers of `partial`: what is least in an
// f8 without infinities must be a number of that f8, for the region rounds what it combines.
Element IdentityOf(LaneBuilder& lanes, Opcode monoid, ElementType type, ElementType partial);
// x op y. Sums and products of narrow floats are not rounded: round once at the end.
absl::StatusOr<Element> CombineMonoid(ElementEmitter& e, const Computation& region, Opcode monoid,
                                      ElementType type, Element x, Element y);

}  // namespace shoal
