#include "sharding/propagate/link.h"

#include "core/hlo/propagation_barrier.h"
#include "sharding/mesh/axes.h"

namespace shoal {
namespace {

Direction Union(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<int>(a) | static_cast<int>(b));
}

// What a barrier lets through; all, if the link is none.
Direction Allowed(const Link& link) {
  if (link.instruction == nullptr || !IsPropagationBarrier(*link.instruction)) return Direction::kBoth;
  const std::string& word = link.instruction->attributes<CustomCallAttributes>().backend_config;
  return word == "FORWARD"    ? Direction::kForward
         : word == "BACKWARD" ? Direction::kBackward
                              : Direction::kNone;
}

Direction Common(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<int>(a) & static_cast<int>(b));
}

bool IsPassThrough(const Link& link) {
  if (link.instruction == nullptr || IsPropagationBarrier(*link.instruction)) return true;
  switch (FamilyOf(link.instruction->opcode())) {
    case OpFamily::kElementwise:
    case OpFamily::kShardingFamily:
      return true;
    case OpFamily::kReshapeFamily:
      return link.instruction->opcode() != Opcode::kBroadcast;
    default:
      return false;
  }
}

// What each level adds.
Direction Added(int level, const Link& link, int factor, bool shared_operand) {
  const bool is_broadcast = link.instruction != nullptr && link.instruction->opcode() == Opcode::kBroadcast;
  const bool is_dynamic =
      link.instruction != nullptr && (link.instruction->opcode() == Opcode::kDynamicSlice ||
                                      link.instruction->opcode() == Opcode::kDynamicUpdateSlice);
  switch (level) {
    case 0:  // a shared operand would bring one user's sharding to the others
    case 1:
      if (level == 0 && shared_operand) return Direction::kNone;
      if (is_dynamic) return Direction::kForward;
      return IsPassThrough(link) ? Direction::kBoth : Direction::kNone;
    case 2:
      if (link.rule.factors[factor].kind != FactorKind::kPassThrough) return Direction::kNone;
      return is_broadcast ? Direction::kBackward : Direction::kBoth;
    case 3:
      return is_broadcast ? Direction::kBackward : Direction::kBoth;
    default:
      return Direction::kBoth;
  }
}

bool ExtendFrom(const AxisList& from, size_t skip_from, DimSharding& to, size_t skip_to, TensorState& state) {
  const AxisList offered = Suffix(from, skip_from), own = Suffix(to.axes, skip_to);
  if (!to.open || offered.size() <= own.size() || !StartsWith(offered, own)) return false;
  const AxisList more = PrefixClearOf(Suffix(offered, own.size()), state.Taken());
  to.axes.insert(to.axes.end(), more.begin(), more.end());
  return !more.empty();
}

}  // namespace

FactorRule IdentityRule(const Shape& shape) {
  FactorRule rule;
  TensorFactors tensor;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    tensor.push_back({static_cast<int>(d)});
    rule.factors.push_back(Factor{shape.dim(d)});
  }
  rule.operands = {tensor};
  rule.results = {tensor};
  return rule;
}

Direction DirectionAt(int level, const Link& link, int factor, bool shared_operand) {
  Direction direction = Direction::kNone;
  for (int i = 0; i <= level; ++i) direction = Union(direction, Added(i, link, factor, shared_operand));
  return Common(direction, Allowed(link));
}

bool PropagateManualBorder(const Link& link, TensorState& outside, TensorState& inside) {
  bool changed = false;
  for (size_t d = 0; d < outside.dims.size(); ++d) {
    const size_t manual = link.manual_prefix[d].size();
    changed |= ExtendFrom(outside.dims[d].axes, manual, inside.dims[d], 0, inside);
    changed |= ExtendFrom(inside.dims[d].axes, 0, outside.dims[d], manual, outside);
  }
  return changed;
}

}  // namespace shoal
