// Schedule: puts the instructions of every computation into the order in which they run.
//
// The order that the program came in is kept, except where there are collectives: they start as soon as their
// operands are there, and what needs a result waits as long as something else can be done. Deterministic, and
// the same on every process for the same program; so the order of collectives is part of the program.
// Instructions with side effects keep their order.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

// True if an order changed. REQUIRES: operands stand before users.
absl::StatusOr<bool> Schedule(Module& module);

}  // namespace shoal
