// while and conditional: their computations are partitioned with the layouts that propagation gave the state,
// and their results.
#include "core/base/status.h"
#include "sharding/partition/region.h"

namespace shoal {
namespace {

std::vector<Layout> WantedLayouts(const Region& region, const Instruction& old) {
  std::vector<Layout> layouts;
  for (size_t leaf = 0; leaf < old.shape().Leaves().size(); ++leaf) {
    layouts.push_back(region.WantedLayout(&old, static_cast<int64_t>(leaf)));
  }
  return layouts;
}

// A new computation that is `old` on parts: its parameter's leaves come in `in`, its root's leave in `out`.
absl::StatusOr<Computation*> PartitionCallee(Region& caller, const Computation& old,
                                             absl::Span<const Layout> in, absl::Span<const Layout> out) {
  Computation* computation = caller.context().module().AddComputation(old.name());
  LocalBuilder builder(caller.context(), computation);
  Region region(caller.context(), builder, caller.manual());
  if (!old.parameters().empty()) {
    const Instruction* parameter = old.parameter(0);
    Instruction* local =
        computation->AddParameter(0, Region::LocalTree(parameter->shape(), in), parameter->name());
    const std::vector<Instruction*> leaves = region.Explode(local);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      region.SetLeaf(parameter, static_cast<int64_t>(leaf), leaves[leaf], in[leaf]);
    }
  }
  SHOAL_RETURN_IF_ERROR(region.Run(old));
  std::vector<Instruction*> results;
  for (size_t leaf = 0; leaf < out.size(); ++leaf) {
    results.push_back(region.Get(old.root(), static_cast<int64_t>(leaf), out[leaf]));
  }
  computation->set_root(region.Assemble(old.root()->shape(), results));
  return computation;
}

Instruction* OperandIn(Region& region, const Instruction* operand, absl::Span<const Layout> layouts) {
  std::vector<Instruction*> leaves;
  for (size_t leaf = 0; leaf < layouts.size(); ++leaf) {
    leaves.push_back(region.Get(operand, static_cast<int64_t>(leaf), layouts[leaf]));
  }
  return region.Assemble(operand->shape(), leaves);
}

void SetResults(Region& region, const Instruction& old, Instruction* local,
                absl::Span<const Layout> layouts) {
  const std::vector<Instruction*> leaves = region.Explode(local);
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    region.SetLeaf(&old, static_cast<int64_t>(leaf), leaves[leaf], layouts[leaf]);
  }
}

}  // namespace

absl::Status PartitionWhile(Region& region, const Instruction& old) {
  const std::vector<Layout> state = WantedLayouts(region, old);
  const Layout scalar = Layout::Replicated(0);
  Instruction* init = OperandIn(region, old.operand(0), state);
  SHOAL_ASSIGN_OR_RETURN(Computation * condition, PartitionCallee(region, *old.called(0), state, {scalar}));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, PartitionCallee(region, *old.called(1), state, state));
  Instruction* local =
      region.builder().Add(Opcode::kWhile, init->shape(), {init}, old.attributes(), {condition, body});
  SetResults(region, old, local, state);
  return absl::OkStatus();
}

absl::Status PartitionConditional(Region& region, const Instruction& old) {
  const std::vector<Layout> out = WantedLayouts(region, old);
  std::vector<Instruction*> operands = {region.GetWhole(old.operand(0))};
  std::vector<Computation*> branches;
  for (size_t i = 0; i < old.called().size(); ++i) {
    const Instruction* operand = old.operand(static_cast<int64_t>(i) + 1);
    const std::vector<Layout> in = WantedLayouts(region, *operand);
    operands.push_back(OperandIn(region, operand, in));
    SHOAL_ASSIGN_OR_RETURN(Computation * branch, PartitionCallee(region, *old.called(i), in, out));
    branches.push_back(branch);
  }
  Instruction* local = region.builder().Add(Opcode::kConditional, Region::LocalTree(old.shape(), out),
                                            operands, old.attributes(), branches);
  SetResults(region, old, local, out);
  return absl::OkStatus();
}

}  // namespace shoal
