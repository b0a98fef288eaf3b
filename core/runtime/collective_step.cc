#include "core/runtime/collective_step.h"

#include <memory>
#include <utility>

namespace shoal {
namespace {

std::vector<SliceUse> UsesOf(const std::vector<Slice>& inputs, const std::vector<Slice>& outputs) {
  std::vector<SliceUse> uses;
  for (const Slice& slice : inputs) uses.push_back({slice, false});
  for (const Slice& slice : outputs) uses.push_back({slice, true});
  return uses;
}

}  // namespace

CollectiveStep::CollectiveStep(CollectiveOp op, std::vector<Slice> inputs, std::vector<Slice> outputs)
    : Step(op.name, UsesOf(inputs, outputs)),
      op_(std::move(op)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

Future CollectiveStep::Start(RunState& run) const {
  struct Pointers {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  Communicator* communicator = run.context().communicator;
  if (communicator == nullptr) {
    return absl::InternalError("the program has collectives but was started without a communicator: " +
                               op_.name);
  }
  auto pointers = std::make_shared<Pointers>();
  for (const Slice& slice : inputs_) pointers->inputs.push_back(run.At(slice));
  for (const Slice& slice : outputs_) pointers->outputs.push_back(run.At(slice));
  const CollectiveCall call{run.context().run, run.NextInstance(op_.number), run.context().partition,
                            pointers->inputs, pointers->outputs};
  Future future = communicator->Start(op_, call);
  if (!future.IsReady()) future.Then([pointers](const absl::Status&) {});  // keeps the tables
  return future;
}

}  // namespace shoal
