// GSPMD's manual regions that stand in the middle of a computation, as an inliner leaves them: what lies
// between the calls that go in and those that come out becomes a function of its own, which is called in its
// place.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// REQUIRES: regions that have a function are manual computations already. Afterwards every border that is
// left stands at a call.
absl::Status OutlineManualRegions(Computation& computation);

}  // namespace shoal
