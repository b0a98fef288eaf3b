// HostTransferStep: hands arrays to the host, or has them filled by it, and returns.
#pragma once

#include <vector>

#include "core/runtime/host_transfers.h"
#include "core/runtime/step.h"

namespace shoal {

class HostTransferStep : public Step {
 public:
  // `order`: what else it reads and writes that stands for the order among transfers; not memory.
  HostTransferStep(HostChannel channel, std::vector<Slice> arrays, absl::Span<const SliceUse> order);

  Future Start(RunState& run) const override;
  bool IsAsync() const override { return true; }
  TimelineRow row() const override;
  double cost_ns() const override;

 private:
  const HostChannel channel_;
  const std::vector<Slice> arrays_;
};

}  // namespace shoal
