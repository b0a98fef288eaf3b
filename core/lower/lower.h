// Lower: from a scheduled module to a Program: emits the kernels, assigns buffers, joins straight runs of
// kernels, loops and branches into native functions, compiles and loads them, and puts these, collectives and
// custom calls into a plan.
//
// A native function ends where the next instruction needs the result of a collective that is under way, so
// that work which does not need it runs meanwhile. Unimplemented, with the operation's name, for what has no
// kernel. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/jit/jit.h"
#include "core/runtime/plan_program.h"

namespace shoal {

// Seconds that the parts took.
struct LowerTimes {
  double emit = 0, assign = 0, compile = 0, load = 0;
};

// `fingerprint` tells this program from others in collectives. `module` has been through UnshareControl.
absl::StatusOr<std::shared_ptr<const PlanProgram>> Lower(const Module& module, uint64_t fingerprint, Jit& jit,
                                                         LowerTimes* times = nullptr);

}  // namespace shoal
