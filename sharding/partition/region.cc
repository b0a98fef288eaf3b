#include "sharding/partition/region.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/hlo/origin.h"
#include "sharding/mesh/axes.h"
#include "sharding/reshard/emit.h"
#include "sharding/reshard/plan.h"

namespace shoal {
namespace {

Shape LeafShape(const Instruction* instruction, int64_t leaf) {
  if (!instruction->shape().IsTuple()) return instruction->shape();
  return instruction->shape().Leaves()[leaf];
}

}  // namespace

absl::Status Region::Run(const Computation& old) {
  for (const Instruction* instruction : old.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    SHOAL_RETURN_IF_ERROR(Run(instruction));
  }
  return builder_.status();
}

absl::Status Region::Run(const Instruction* old) {
  builder_.set_op_name(old->op_name());
  const AxisList through = PartialAxesThrough(*this, *old);
  if (!through.empty()) return PartitionPartial(*this, *old, through);
  return PartitionFunctionFor(*old)(*this, *old);
}

Region::Key Region::Resolve(const Instruction* old, int64_t leaf) const {
  const auto it = aliases_.find(Key(old, leaf));
  return it == aliases_.end() ? Key(old, leaf) : it->second;
}

void Region::Alias(const Instruction* old, int64_t leaf, const Instruction* of, int64_t of_leaf) {
  aliases_[Key(old, leaf)] = Resolve(of, of_leaf);
}

Layout Region::CurrentLayout(const Instruction* old, int64_t leaf) const {
  return values_.at(Resolve(old, leaf)).layout;
}

Layout Region::WantedLayout(const Instruction* old, int64_t leaf) const {
  const int64_t rank = LeafShape(old, leaf).rank();
  if (static_cast<int64_t>(old->shardings().size()) <= leaf) return Layout::Replicated(rank);
  return WithoutAxes(LayoutOf(old->shardings()[leaf], rank), manual_);
}

bool Region::Has(const Instruction* old, int64_t leaf) const { return values_.contains(Resolve(old, leaf)); }

bool Region::IsFree(const Instruction* maybe_alias, int64_t leaf) const {
  const Key key = Resolve(maybe_alias, leaf);
  const auto value = values_.find(key);
  if (value != values_.end() && value->second.imported) return false;
  const Instruction* old = key.first;
  switch (old->opcode()) {
    case Opcode::kIota:
      return true;
    case Opcode::kConstant:
      return old->literal().IsSplat();
    case Opcode::kBroadcast:
      return old->operand(0)->shape().rank() == 0;
    default:
      return false;
  }
}

Instruction* Region::Get(const Instruction* maybe_alias, int64_t maybe_leaf, const Layout& layout) {
  const Key key = Resolve(maybe_alias, maybe_leaf);
  const auto [old, leaf] = key;
  const LocalValue& own = values_.at(key);
  if (own.layout == layout) return own.local;
  const std::vector<LocalValue>& copies = copies_[key];
  for (const LocalValue& copy : copies) {
    if (copy.layout == layout) return copy.local;
  }
  // What is asked for by nobody in particular, as a result of the program is, has the value's own name.
  const std::string asking = builder_.op_name();
  if (asking.empty()) builder_.set_op_name(old->op_name());
  Instruction* made = nullptr;
  if (IsFree(old, leaf) && layout.partial.empty()) {
    made = Rematerialize(old, layout);
  } else {
    // From whichever layout is nearest.
    const Shape global = LeafShape(old, leaf);
    const LocalValue* nearest = &own;
    double cost = PlanReshard(mesh(), global, own.layout, layout, manual_).cost;
    for (const LocalValue& copy : copies) {
      const double from_copy = PlanReshard(mesh(), global, copy.layout, layout, manual_).cost;
      if (from_copy < cost) cost = from_copy, nearest = &copy;
    }
    made = Reshard(nearest->local, global, nearest->layout, layout);
  }
  builder_.set_op_name(asking);
  copies_[key].push_back({made, layout});  // not `copies`: to rematerialize may have asked for an operand's
  return made;
}

Instruction* Region::GetWhole(const Instruction* old, int64_t leaf) {
  return Get(old, leaf, Layout::Replicated(LeafShape(old, leaf).rank()));
}

void Region::SetLeaf(const Instruction* old, int64_t leaf, Instruction* local, Layout layout) {
  values_[Key(old, leaf)] = LocalValue{local, std::move(layout)};
}

void Region::Import(const Instruction* old, int64_t leaf, Instruction* local, Layout layout) {
  values_[Key(old, leaf)] = LocalValue{local, std::move(layout), true};
}

absl::Status Region::SetFree(const Instruction* old) {
  const Layout wanted = WantedLayout(old);
  Layout whole = wanted;
  whole.partial.clear();
  SetResult(old, 0, Rematerialize(old, whole), whole);
  return absl::OkStatus();
}

void Region::SetResult(const Instruction* old, int64_t leaf, Instruction* local, const Layout& layout,
                       Opcode combiner) {
  const Layout wanted = WantedLayout(old, leaf);
  if (layout != wanted && layout.partial.empty()) copies_[Key(old, leaf)].push_back({local, layout});
  SetLeaf(old, leaf, Reshard(local, LeafShape(old, leaf), layout, wanted, combiner), wanted);
}

Instruction* Region::Reshard(Instruction* local, const Shape& global, const Layout& from, const Layout& to,
                             Opcode combiner) {
  if (from == to || !global.IsArray()) return local;
  // Nothing is sent of an array without elements (StableHLO has no gather of them either).
  if (global.ElementCount() == 0) {
    return builder_.BroadcastScalar(builder_.Zero(global.element_type()), LocalShape(global, to).dims());
  }
  // Sums that shall be partial but are not yet: what is split over the axis stays where it is, with zeros
  // around; of a copy on every device one keeps the value and the others have zero.
  Layout here = from;
  AxisList spread = Without(to.partial, from.partial);
  if (!spread.empty()) local = SpreadParts(local, global, here, spread);
  Layout target = to;
  target.partial = Without(to.partial, spread);
  const ReshardPlan plan = PlanReshard(mesh(), global, here, target, manual_);
  SHOAL_LOG_AT(2) << "reshard " << global << " " << ToString(from, mesh()) << " to " << ToString(to, mesh())
                  << ": " << ToString(plan, mesh());
  local = EmitReshard(builder_, local, global, plan, combiner, manual_);
  if (spread.empty()) return local;
  Instruction* first =
      builder_.Compare(ComparisonDirection::kEq, builder_.Coordinate(spread), builder_.Position(0));
  Instruction* zero = builder_.Zero(global.element_type());
  return builder_.Select(builder_.BroadcastScalar(first, local->shape().dims()), local,
                         builder_.BroadcastScalar(zero, local->shape().dims()));
}

Instruction* Region::SpreadParts(Instruction* local, const Shape& global, Layout& layout, AxisList& spread) {
  for (int64_t d = 0; d < global.rank(); ++d) {
    AxisList& axes = layout.dims[d];
    size_t keep = axes.size();
    while (keep > 0 && Contains(spread, axes[keep - 1])) --keep;
    const AxisList moved = Suffix(axes, keep);
    if (moved.empty() || global.dim(d) % SizeOf(axes) != 0) continue;
    const int64_t size = local->shape().dim(d);
    DimVector dims(local->shape().dims().begin(), local->shape().dims().end());
    dims[d] = size * SizeOf(moved);
    std::vector<Instruction*> operands = {
        builder_.BroadcastScalar(builder_.Zero(global.element_type()), dims), local};
    for (int64_t i = 0; i < global.rank(); ++i) operands.push_back(builder_.Position(0));
    operands[2 + d] = builder_.Binary(Opcode::kMultiply, builder_.Coordinate(moved), builder_.Position(size));
    local = builder_.Add(Opcode::kDynamicUpdateSlice, global.WithDims(dims), operands);
    layout.partial = Concat(layout.partial, moved);
    std::sort(layout.partial.begin(), layout.partial.end());
    axes = Prefix(axes, keep);
    spread = Without(spread, moved);
  }
  return local;
}

Instruction* Region::Rematerialize(const Instruction* old, const Layout& layout) {
  const Shape local = LocalShape(old->shape(), layout);
  if (old->opcode() == Opcode::kConstant) {
    Literal scalar =
        *Literal::FromBytes(Shape::Scalar(local.element_type()),
                            old->shape().ElementCount() == 0
                                ? std::string(ByteWidth(local.element_type()), '\0')
                                : std::string(old->literal().data(), ByteWidth(local.element_type())));
    return builder_.BroadcastScalar(builder_.computation()->AddConstant(std::move(scalar)), local.dims());
  }
  if (old->opcode() == Opcode::kBroadcast) {
    return builder_.BroadcastScalar(Get(old->operand(0), Layout::Replicated(0)), local.dims());
  }
  const int64_t dim = old->dimensions()[0];
  Instruction* iota = builder_.Add(Opcode::kIota, local, {}, DimensionsAttributes{{dim}});
  if (layout.dims[dim].empty()) return iota;
  Instruction* offset = builder_.Binary(Opcode::kMultiply, builder_.Coordinate(layout.dims[dim]),
                                        builder_.Position(local.dim(dim)));
  offset = builder_.Convert(offset, local.element_type());
  return builder_.Binary(Opcode::kAdd, iota, builder_.BroadcastScalar(offset, local.dims()));
}

std::vector<Instruction*> Region::Explode(Instruction* local) {
  if (!local->shape().IsTuple()) return {local};
  std::vector<Instruction*> leaves;
  for (int64_t i = 0; i < static_cast<int64_t>(local->shape().elements().size()); ++i) {
    Instruction* element = builder_.computation()->AddGetTupleElement(local, i);
    for (Instruction* leaf : Explode(element)) leaves.push_back(leaf);
  }
  return leaves;
}

Instruction* Region::Assemble(const Shape& global, absl::Span<Instruction* const> leaves) {
  if (!global.IsTuple()) return leaves[0];
  std::vector<Instruction*> elements;
  size_t next = 0;
  for (const Shape& element : global.elements()) {
    const size_t count = element.Leaves().size();
    elements.push_back(Assemble(element, leaves.subspan(next, count)));
    next += count;
  }
  return builder_.computation()->AddTuple(elements);
}

Shape Region::LocalTree(const Shape& global, absl::Span<const Layout> layouts) {
  if (!global.IsTuple()) return LocalShape(global, layouts[0]);
  std::vector<Shape> elements;
  size_t next = 0;
  for (const Shape& element : global.elements()) {
    const size_t count = element.Leaves().size();
    elements.push_back(LocalTree(element, layouts.subspan(next, count)));
    next += count;
  }
  return Shape::Tuple(std::move(elements));
}

ChoiceProblem Region::ProblemAlong(const Instruction& old, const FactorRule& rule, int factor) const {
  ChoiceProblem problem = ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), false);
  problem.splittable[factor] = true;
  return problem;
}

ChoiceProblem Region::ProblemOf(const Instruction& old, const FactorRule& rule) const {
  ChoiceProblem problem;
  problem.rule = &rule;
  for (const Instruction* operand : old.operands()) {
    const std::vector<Shape> leaves = operand->shape().Leaves();
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const auto l = static_cast<int64_t>(leaf);
      problem.operands.push_back({leaves[leaf], CurrentLayout(operand, l), IsFree(operand, l)});
    }
  }
  const std::vector<Shape> leaves = old.shape().Leaves();
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    problem.results.push_back({leaves[leaf], WantedLayout(&old, static_cast<int64_t>(leaf))});
  }
  return problem;
}

Instruction* Region::GetFor(const Instruction& old, const FactorRule& rule, const Choice& choice, int64_t i,
                            int64_t leaf, size_t tensor) {
  const Layout& wanted = choice.operands[tensor];
  const Layout layout = CurrentLayout(old.operand(i), leaf);
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    if (layout.dims[d].empty() || !wanted.dims[d].empty()) continue;
    for (int factor : rule.operands[tensor][d]) {
      const FactorKind kind = rule.factors[factor].kind;
      if (kind != FactorKind::kNeedReplication && kind != FactorKind::kPermutation) continue;
      return GetGathered(old, i, leaf, wanted, d);
    }
  }
  return Get(old.operand(i), leaf, wanted);
}

Instruction* Region::GetWholeFor(const Instruction& old, int64_t i, int64_t leaf) {
  const Layout layout = CurrentLayout(old.operand(i), leaf);
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    if (layout.dims[d].empty()) continue;
    return GetGathered(old, i, leaf, Layout::Replicated(static_cast<int64_t>(layout.dims.size())), d);
  }
  return GetWhole(old.operand(i), leaf);
}

Instruction* Region::GetGathered(const Instruction& old, int64_t i, int64_t leaf, const Layout& layout,
                                 size_t dim) {
  const Shape shape = LeafShape(old.operand(i), leaf);
  SHOAL_LOG_AT(1) << "partition: " << old.name() << " (" << old.opcode() << ") gathers dimension " << dim
                  << " of operand " << i << " " << shape << " "
                  << ToString(CurrentLayout(old.operand(i), leaf), mesh())
                  << (old.op_name().empty() ? "" : absl::StrCat(", from ", old.op_name()));
  const std::string why = absl::StrCat("whole(", OpcodeName(old.opcode()), " along dimension ", dim, " of ",
                                       shape.ToString(), ")");
  builder_.set_op_name(WithNamePart(old.op_name(), why));
  Instruction* made = Get(old.operand(i), leaf, layout);
  builder_.set_op_name(old.op_name());
  return made;
}

}  // namespace shoal
