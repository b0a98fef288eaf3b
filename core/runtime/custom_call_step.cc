#include "core/runtime/custom_call_step.h"

#include <utility>

#include "core/base/timeline.h"

namespace shoal {
namespace {

// Calls with side effects must stay in order: each "writes" a byte of the run info block, which is only read
// otherwise.
std::vector<SliceUse> UsesOf(const CustomCallSite& site, const std::vector<Slice>& operands,
                             const std::vector<Slice>& results, absl::Span<const SliceUse> order) {
  std::vector<SliceUse> uses(order.begin(), order.end());
  for (const Slice& slice : operands) uses.push_back({slice, false});
  for (const Slice& slice : results) uses.push_back({slice, true});
  if (site.has_side_effect) uses.push_back({{kRunInfoBase, sizeof(RunInfo), 1}, true});
  return uses;
}

std::vector<bool> Tokens(const std::vector<Shape>& shapes) {
  std::vector<bool> tokens;
  for (const Shape& shape : shapes) tokens.push_back(shape.IsToken());
  return tokens;
}

}  // namespace

CustomCallStep::CustomCallStep(std::string name, std::unique_ptr<CustomCall> call, const CustomCallSite& site,
                               std::vector<Slice> operands, std::vector<Slice> results,
                               absl::Span<const SliceUse> order)
    : Step(std::move(name), UsesOf(site, operands, results, order)),
      call_(std::move(call)),
      operands_(std::move(operands)),
      results_(std::move(results)),
      operand_is_token_(Tokens(site.operands)),
      result_is_token_(Tokens(site.results)) {}

TimelineRow CustomCallStep::row() const { return TimelineRow::kCalls; }

Future CustomCallStep::Start(RunState& run) const {
  struct Pointers {
    std::vector<const void*> operands;
    std::vector<void*> results;
  };
  auto pointers = std::make_shared<Pointers>();
  for (size_t i = 0; i < operands_.size(); ++i) {
    pointers->operands.push_back(operand_is_token_[i] ? nullptr : run.At(operands_[i]));
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    pointers->results.push_back(result_is_token_[i] ? nullptr : run.At(results_[i]));
  }
  Future future = call_->Start(run.context(), pointers->operands, pointers->results);
  if (!future.IsReady()) future.Then([pointers](const absl::Status&) {});  // keeps the tables
  return future;
}

}  // namespace shoal
