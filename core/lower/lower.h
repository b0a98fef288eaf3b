// Lower: from a scheduled module to a Program: gets the kernels, assigns buffers, joins straight runs of
// kernels, loops and branches into native steps, and puts these, collectives and custom calls into a plan.
//
// A native step ends where the next instruction needs the result of a collective that is under way, so
// that work which does not need it runs meanwhile. Unimplemented, with the operation's name, for what has no
// kernel. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/lower/kernel_cache.h"
#include "core/lower/share_code.h"
#include "core/runtime/plan_program.h"

namespace shoal {

// Seconds that the parts took, and how many kernels the program has and had to compile.
struct LowerTimes {
  double kernels = 0, buffers = 0, control = 0, plan = 0;
  int64_t kernel_count = 0, new_kernels = 0;
};

struct Lowered {
  std::shared_ptr<const PlanProgram> program;
  std::shared_ptr<const ProgramCode> code;  // what it runs; the program keeps it
};

// `fingerprint` tells this program from others in collectives. `module` has been through UnshareControl.
// `peers` lower the same module.
absl::StatusOr<Lowered> Lower(const Module& module, uint64_t fingerprint, KernelCache& cache,
                              LowerTimes* times = nullptr, const CodePeers& peers = {});

}  // namespace shoal
