// gather and scatter where indexed dimensions or updates are split.
//
// gather: each part looks up what it has and gives zero for the rest; the sum over parts is the result.
// scatter along a split dimension of the operand: each part applies the updates that fall into it, no
// traffic. scatter of split updates: one part starts from the operand and the others from zero; the sum is
// the result.
#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/partition/index_parts.h"

namespace shoal {
namespace {

int64_t IndexOf(const IntVector& list, int64_t value) {
  const auto it = std::find(list.begin(), list.end(), value);
  return it == list.end() ? -1 : it - list.begin();
}

// The indexed dimensions, one element each, that `layout` splits.
std::vector<IndexedDim> SplitIndexedDims(const Shape& operand, const Layout& layout,
                                         const IntVector& one_element, const IntVector& index_map) {
  std::vector<IndexedDim> dims;
  for (int64_t d : one_element) {
    const int64_t component = IndexOf(index_map, d);
    if (component < 0 || layout.dims[d].empty()) continue;
    dims.push_back(
        {component, operand.dim(d), LocalSize(operand.dim(d), SizeOf(layout.dims[d])), layout.dims[d]});
  }
  return dims;
}

// Zero where `inside` (over the result's batch dimensions) is false.
Instruction* ZeroOutside(LocalBuilder& builder, Instruction* local, Instruction* inside,
                         const IntVector& offset_dims) {
  IntVector batch;
  for (int64_t d = 0; d < local->shape().rank(); ++d) {
    if (IndexOf(offset_dims, d) < 0) batch.push_back(d);
  }
  Instruction* keep = inside;
  if (!offset_dims.empty()) {
    keep = builder.Add(Opcode::kBroadcast, local->shape().WithElementType(ElementType::kPred), {inside},
                       DimensionsAttributes{std::move(batch)});
  }
  Instruction* zero = builder.Zero(local->shape().element_type());
  return builder.Select(keep, local, builder.BroadcastScalar(zero, local->shape().dims()));
}

// Factors of dimensions that are scattered into one element at a time: parts can sort the updates out.
std::vector<bool> SplittableFactors(const Instruction& old, const FactorRule& rule) {
  const auto& scatter = old.attributes<ScatterAttributes>();
  std::vector<bool> splittable(rule.factors.size(), false);
  for (int64_t d : scatter.inserted_window_dims) {
    if (IndexOf(scatter.scatter_dims_to_operand_dims, d) >= 0) splittable[rule.operands[0][d][0]] = true;
  }
  return splittable;
}

}  // namespace

absl::Status PartitionGather(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Choice choice = ChooseFactorAxes(region.mesh(), region.ProblemOf(old, rule), region.manual());
  if (choice.results[0].partial.empty()) return PartitionGeneric(region, old);
  const auto& gather = old.attributes<GatherAttributes>();
  LocalBuilder& builder = region.builder();
  const Shape& global = old.operand(0)->shape();
  const std::vector<IndexedDim> dims =
      SplitIndexedDims(global, choice.operands[0], gather.collapsed_slice_dims, gather.start_index_map);
  Instruction* operand = region.Get(old.operand(0), choice.operands[0]);
  const LocalIndices local_indices = MakeLocalIndices(builder, region.Get(old.operand(1), choice.operands[1]),
                                                      gather.index_vector_dim, dims, /*clamp=*/true);
  const Shape shape = LocalShape(old.shape(), choice.results[0]);
  Instruction* local =
      builder.Add(Opcode::kGather, shape, {operand, local_indices.indices},
                  LocalAttributes(old, {operand->shape(), local_indices.indices->shape()}, {shape}));
  local = ZeroOutside(builder, local, local_indices.inside, gather.offset_dims);
  const Opcode sum = shape.element_type() == ElementType::kPred ? Opcode::kOr : Opcode::kAdd;
  region.SetResult(&old, 0, local, choice.results[0], sum);
  return absl::OkStatus();
}

absl::Status PartitionScatter(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const auto& scatter = old.attributes<ScatterAttributes>();
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable = SplittableFactors(old, rule);
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  LocalBuilder& builder = region.builder();
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    operands.push_back(region.GetFor(old, rule, choice, i, 0, static_cast<size_t>(i)));
  }
  const int64_t inputs = (old.operand_count() - 1) / 2;
  const Shape& global = old.operand(0)->shape();
  const std::vector<IndexedDim> dims = SplitIndexedDims(
      global, choice.operands[0], scatter.inserted_window_dims, scatter.scatter_dims_to_operand_dims);
  if (!dims.empty()) {
    operands[inputs] =
        MakeLocalIndices(builder, operands[inputs], scatter.index_vector_dim, dims, /*clamp=*/false).indices;
  }
  const AxisList& partial = choice.results[0].partial;
  if (!partial.empty()) {  // one input, and addition (rules/gather.cc)
    Instruction* zero = builder.Zero(global.element_type());
    for (size_t d = 0; d < rule.operands[2].size(); ++d) {
      const int factor = rule.operands[2][d][0];
      if (rule.factors[factor].kind != FactorKind::kReduction) continue;
      operands[2] = builder.MaskPadding(operands[2], static_cast<int64_t>(d), rule.factors[factor].size,
                                        choice.axes[factor], zero);
    }
    Instruction* first =
        builder.Compare(ComparisonDirection::kEq, builder.Coordinate(partial), builder.Position(0));
    const auto whole = operands[0]->shape().dims();
    operands[0] = builder.Select(builder.BroadcastScalar(first, whole), operands[0],
                                 builder.BroadcastScalar(zero, whole));
  }
  std::vector<Layout> layouts = choice.results;
  Instruction* local = builder.Add(Opcode::kScatter, Region::LocalTree(old.shape(), layouts), operands,
                                   old.attributes(), old.called());
  const std::vector<Instruction*> results = region.Explode(local);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i], layouts[i]);
  }
  return absl::OkStatus();
}

}  // namespace shoal
