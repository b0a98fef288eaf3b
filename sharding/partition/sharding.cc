// What only the partitioner understands: constraints, and manual regions, which are inlined: inside, arrays
// are local along the manual axes already.
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

namespace shoal {
namespace {

AxisList ManualAxes(const Mesh& mesh, const ManualAttributes& attributes) {
  AxisList axes;
  for (const std::string& name : attributes.manual_axes) {
    const int axis = mesh.AxisIndex(name);
    if (axis >= 0) axes = Concat(axes, Atoms(WholeAxis(mesh, axis)));
  }
  return axes;
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
  const AxisList own = ManualAxes(region.mesh(), attributes);
  const AxisList manual = Concat(region.manual(), Without(own, region.manual()));
  const Computation& body = *old.called(0);
  Region inside(region.context(), region.builder(), manual);
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    const Layout layout = LayoutOf(attributes.in_shardings[i], operand->shape().rank());
    inside.SetLeaf(body.parameter(i), 0, region.Get(operand, layout), WithoutAxes(layout, manual));
  }
  SHOAL_RETURN_IF_ERROR(inside.Run(body));
  region.builder().set_op_name(old.op_name());
  const std::vector<Shape> leaves = old.shape().Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = static_cast<int64_t>(i);
    const Layout layout = LayoutOf(attributes.out_shardings[i], leaves[i].rank());
    Instruction* local = inside.Get(body.root(), leaf, WithoutAxes(layout, manual));
    region.SetResult(&old, leaf, local, layout);
  }
  return absl::OkStatus();
}

}  // namespace shoal
