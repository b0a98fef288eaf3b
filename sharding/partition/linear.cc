// Sums that are still partial go through operations that are linear in them: f(a) + f(b) = f(a + b), so they
// need not be combined before. Used where the result, too, is wanted partial (`unreduced` axes); the axes of
// the sum are manual for this one instruction then, as in a manual region.
#include <algorithm>

#include "core/base/status.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

namespace shoal {
namespace {

enum class Linearity : uint8_t {
  kNone,    // the whole value is needed
  kJoint,   // linear in all such operands together: a + b
  kFactor,  // linear in each such operand while the others are whole: a * b
};

using Linearities = std::vector<Linearity>;

Linearities All(const Instruction& old) { return Linearities(old.operand_count(), Linearity::kJoint); }

Linearities Of(const Instruction& old, std::initializer_list<int64_t> joint) {
  Linearities result(old.operand_count(), Linearity::kNone);
  for (int64_t i : joint) result[i] = Linearity::kJoint;
  return result;
}

bool HasFractions(const Shape& shape) {
  return shape.IsArray() && (IsFloat(shape.element_type()) || IsComplex(shape.element_type()));
}

// One a operand; none if the operation is linear in nothing, or works on more than one array.
Linearities LinearitiesOf(const Instruction& old) {
  if (!old.shape().IsArray()) return {};
  switch (old.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kNegate:
    case Opcode::kCopy:
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kComplex:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kBroadcast:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
      return All(old);
    case Opcode::kConvert:
    case Opcode::kDivide:
      return HasFractions(old.shape()) ? Of(old, {0}) : Linearities();
    case Opcode::kMultiply:
    case Opcode::kDot:
    case Opcode::kConvolution:
      return Linearities(2, Linearity::kFactor);
    case Opcode::kSelect:
      return Of(old, {1, 2});
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return Of(old, {0});
    case Opcode::kDynamicUpdateSlice:
      return Of(old, {0, 1});
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return CombinerOf(*old.called(0)) == Combiner::kAdd ? All(old) : Linearities();
    case Opcode::kScatter:
      return CombinerOf(*old.called(0)) == Combiner::kAdd ? Of(old, {0, 2}) : Linearities();
    default:
      return {};
  }
}

AxisList Common(const AxisList& a, const AxisList& b) { return Without(a, Without(a, b)); }

}  // namespace

AxisList PartialAxesThrough(const Region& region, const Instruction& old) {
  if (!old.shape().IsArray()) return {};
  const AxisList wanted = region.WantedLayout(&old).partial;
  if (wanted.empty()) return {};
  const Linearities linear = LinearitiesOf(old);
  AxisList through;
  int factors = 0;
  for (size_t i = 0; i < linear.size(); ++i) {
    const AxisList common =
        Common(region.CurrentLayout(old.operand(static_cast<int64_t>(i))).partial, wanted);
    if (linear[i] == Linearity::kNone || common.empty()) continue;
    through = Concat(through, Without(common, through));
    factors += linear[i] == Linearity::kFactor ? 1 : 0;
  }
  // The product of two sums is not the sum of the products.
  if (factors > 1) return {};
  std::sort(through.begin(), through.end());
  return through;
}

absl::Status PartitionPartial(Region& region, const Instruction& old, const AxisList& through) {
  const Linearities linear = LinearitiesOf(old);
  Region inside(region.context(), region.builder(), Concat(region.manual(), through));
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    Layout layout = region.CurrentLayout(operand);
    const bool is_sum = linear[i] == Linearity::kJoint || !Common(layout.partial, through).empty();
    layout = WithoutAxes(layout, through);
    Layout inner = layout;
    if (is_sum) {
      layout.partial = Concat(layout.partial, through);
      std::sort(layout.partial.begin(), layout.partial.end());
    }
    inside.Import(operand, 0, region.Get(operand, layout), std::move(inner));
  }
  SHOAL_RETURN_IF_ERROR(inside.Run(&old));
  const Layout wanted = region.WantedLayout(&old);
  region.SetLeaf(&old, 0, inside.Get(&old, WithoutAxes(wanted, through)), wanted);
  return absl::OkStatus();
}

}  // namespace shoal
