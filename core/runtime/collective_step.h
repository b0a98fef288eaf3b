// CollectiveStep: hands its buffers to the communicator and returns.
#pragma once

#include <vector>

#include "core/runtime/communicator.h"
#include "core/runtime/step.h"

namespace shoal {

class CollectiveStep : public Step {
 public:
  // One slice an array of `op`; `origin` is where the user wrote it, for the timeline.
  CollectiveStep(CollectiveOp op, std::vector<Slice> inputs, std::vector<Slice> outputs,
                 absl::string_view origin);

  Future Start(RunState& run) const override { return Start(run, /*idle=*/false); }
  Future StartIdle(RunState& run) const override { return Start(run, /*idle=*/true); }
  bool IsAsync() const override { return true; }
  bool LetReadOn() override;
  const CollectiveOp* collective() const override { return &op_; }
  TimelineRow row() const override;
  double cost_ns() const override;

 private:
  Future Start(RunState& run, bool idle) const;
  int64_t bytes() const;  // read and written

  const CollectiveOp op_;
  const std::vector<Slice> inputs_, outputs_;
  bool read_on_ = false;  // others may, after the future is set
};

}  // namespace shoal
