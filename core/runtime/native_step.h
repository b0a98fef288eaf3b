// NativeStep: a straight run of kernels, loops and branches as one native function (core/codegen/sequence.h).
#pragma once

#include <string>
#include <vector>

#include "core/codegen/sequence.h"
#include "core/runtime/step.h"

namespace shoal {

class NativeStep : public Step {
 public:
  // `routines` by the index that the function uses; the program keeps them and the code alive.
  NativeStep(std::string name, std::vector<SliceUse> uses, SequenceFunction function,
             std::vector<const Routine*> routines, double cost_ns)
      : Step(std::move(name), std::move(uses)),
        function_(function),
        routines_(std::move(routines)),
        cost_ns_(cost_ns) {}

  Future Start(RunState& run) const override { return Future(Run(run)); }
  double cost_ns() const override { return cost_ns_; }

 private:
  absl::Status Run(RunState& run) const;

  const SequenceFunction function_;
  const std::vector<const Routine*> routines_;
  const double cost_ns_;
};

}  // namespace shoal
