// What only the partitioner understands: constraints, and manual regions, which are inlined: inside, arrays
// are local along the manual axes already.
#include "core/base/status.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/spec/manual_axes.h"

namespace shoal {
namespace {

// `layout` of an array that enters or leaves a manual region, without free axes whose parts of the region's
// array are not the parts of the whole array: 208 elements over b=2 are 104 inside, of which a=3 makes parts
// of 35 at 0, 35 and 70, then 104, ...; over {b,a} they would begin at 0, 35, 70, 105, ...
Layout AtBorder(Layout layout, const Shape& global, const AxisList& manual) {
  for (int64_t d = 0; d < global.rank(); ++d) {
    AxisList& axes = layout.dims[d];
    size_t count = 0;
    while (count < axes.size() && Overlaps(manual, axes[count])) ++count;
    const int64_t parts = SizeOf(Prefix(axes, count));
    if (!SplitAligns(global.dim(d), parts, SizeOf(axes) / parts)) axes = Prefix(axes, count);
  }
  return layout;
}

}  // namespace

absl::Status PartitionConstraint(Region& region, const Instruction& old) {
  const Instruction* operand = old.operand(0);
  if (region.IsFree(operand) && region.WantedLayout(&old).partial.empty()) {
    const Layout wanted = region.WantedLayout(&old);
    region.SetLeaf(&old, 0, region.Get(operand, wanted), wanted);
    return absl::OkStatus();
  }
  const Layout layout = region.CurrentLayout(operand);
  region.SetResult(&old, 0, region.Get(operand, layout), layout);
  return absl::OkStatus();
}

absl::Status PartitionManual(Region& region, const Instruction& old) {
  const auto& attributes = old.attributes<ManualAttributes>();
  SHOAL_ASSIGN_OR_RETURN(const AxisList own, ManualAxes(attributes, region.context().mesh_ptr()));
  const AxisList manual = Concat(region.manual(), Without(own, region.manual()));
  const Computation& body = *old.called(0);
  Region inside(region.context(), region.builder(), manual);
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    const Layout layout =
        AtBorder(LayoutOf(attributes.in_shardings[i], operand->shape().rank()), operand->shape(), manual);
    inside.SetLeaf(body.parameter(i), 0, region.Get(operand, layout), WithoutAxes(layout, manual));
  }
  SHOAL_RETURN_IF_ERROR(inside.Run(body));
  region.builder().set_op_name(old.op_name());
  const std::vector<Shape> leaves = old.shape().Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = static_cast<int64_t>(i);
    const Layout layout =
        AtBorder(LayoutOf(attributes.out_shardings[i], leaves[i].rank()), leaves[i], manual);
    Instruction* local = inside.Get(body.root(), leaf, WithoutAxes(layout, manual));
    region.SetResult(&old, leaf, local, layout);
  }
  return absl::OkStatus();
}

}  // namespace shoal
