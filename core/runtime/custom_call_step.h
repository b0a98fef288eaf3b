// CustomCallStep: calls a registered function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/runtime/custom_call.h"
#include "core/runtime/step.h"

namespace shoal {

class CustomCallStep : public Step {
 public:
  // One slice a leaf, without bytes for a token or an empty array. `order`: what its tokens stand for.
  CustomCallStep(std::string name, std::unique_ptr<CustomCall> call, const CustomCallSite& site,
                 std::vector<Slice> operands, std::vector<Slice> results, absl::Span<const SliceUse> order);

  Future Start(RunState& run) const override;
  bool MayEndLater() const override { return true; }
  TimelineRow row() const override;
  bool CallsOut() const override { return call_->MayWait(); }
  double cost_ns() const override { return call_->cost_ns(); }

 private:
  const std::unique_ptr<CustomCall> call_;
  const std::vector<Slice> operands_, results_;
  std::vector<bool> operand_is_token_, result_is_token_;
};

}  // namespace shoal
