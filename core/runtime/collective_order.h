// How the collectives of a plan stand to each other in time: what a participant that waits in one of them can
// say of the others. It costs a walk over the plan, and is for those that have waited for long.
//
// Pure functions of the plan, which is immutable.
#pragma once

#include <cstdint>

#include "core/runtime/communicator.h"
#include "core/runtime/plan.h"

namespace shoal {

// The collective of that number, in the plan or a part of its steps; null if there is none.
const CollectiveOp* FindCollective(const Plan& plan, int64_t number);

// Whether no run of the plan has ever both collectives under way: because they are in different branches, or
// steps that follow each other. Executions of one collective are never under way at once.
//
//   a; if p { b } else { c }; d    with d reading what b and c write, but not a: everything but a with the
//                                  others
bool NeverAtOnce(const Plan& plan, int64_t first, int64_t second);

// Whether a run of the plan may end without some of its collectives.
bool MayPassOverCollectives(const Plan& plan);

}  // namespace shoal
