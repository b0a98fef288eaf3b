#include "sharding/reshard/emit.h"

#include <algorithm>
#include <numeric>

#include "absl/container/btree_map.h"
#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

// What tells apart the parts that devices hold: coordinates along each dimension, then along `fixed`.
std::vector<int64_t> PartKey(const Mesh& mesh, int64_t position, const Layout& layout,
                             const AxisList& fixed) {
  std::vector<int64_t> key;
  for (const AxisList& axes : layout.dims) key.push_back(Coordinate(mesh, position, axes));
  key.push_back(Coordinate(mesh, position, layout.partial));
  key.push_back(Coordinate(mesh, position, fixed));
  return key;
}

// Who sends to whom so that every device gets the part that `to` gives it. Both layouts split alike, so every
// part has as many holders before as after: a bijection, with as many staying where they are as can.
Pairs PairsBetween(const Mesh& from_mesh, const Layout& from, const Mesh& to_mesh, const Layout& to,
                   const AxisList& fixed) {
  absl::btree_map<std::vector<int64_t>, std::vector<int64_t>> holders, wanted;
  const std::vector<int64_t> sources = Devices(from_mesh), targets = Devices(to_mesh);
  for (size_t p = 0; p < sources.size(); ++p) {
    holders[PartKey(from_mesh, static_cast<int64_t>(p), from, fixed)].push_back(sources[p]);
  }
  for (size_t p = 0; p < targets.size(); ++p) {
    wanted[PartKey(to_mesh, static_cast<int64_t>(p), to, fixed)].push_back(targets[p]);
  }
  Pairs pairs;
  for (auto& [key, receivers] : wanted) {
    std::vector<int64_t>& senders = holders[key];
    std::vector<int64_t> left;
    for (int64_t receiver : receivers) {
      const auto it = std::find(senders.begin(), senders.end(), receiver);
      if (it == senders.end()) {
        left.push_back(receiver);
      } else {
        pairs.emplace_back(receiver, receiver);
        senders.erase(it);
      }
    }
    for (size_t i = 0; i < left.size() && i < senders.size(); ++i) pairs.emplace_back(senders[i], left[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

class Emitter {
 public:
  Emitter(LocalBuilder& builder, const Shape& global, Opcode combiner, const AxisList& fixed)
      : b_(builder), global_(global), combiner_(combiner), fixed_(fixed) {}

  Instruction* Emit(Instruction* x, const ReshardStep& step, const Layout& before) {
    switch (step.kind) {
      case ReshardStepKind::kSlice:
        return Slice(x, step);
      case ReshardStepKind::kGather:
        return Trim(b_.AllGather(x, step.axes, step.dim), step.dim, step.after);
      case ReshardStepKind::kAllToAll:
        return AllToAll(x, step);
      case ReshardStepKind::kPermute: {
        const Pairs pairs = PairsBetween(b_.mesh(), before, b_.mesh(), step.after, fixed_);
        const bool moves =
            std::any_of(pairs.begin(), pairs.end(), [](auto& p) { return p.first != p.second; });
        return moves ? b_.Permute(x, pairs) : x;
      }
      case ReshardStepKind::kAllReduce:
        return b_.AllReduce(x, step.axes, combiner_);
      case ReshardStepKind::kReduceScatter:
        return b_.ReduceScatter(PadForSplit(x, step.dim, step), step.axes, step.dim, combiner_);
    }
    return x;
  }

 private:
  int64_t SizeAfter(int64_t dim, const Layout& layout) const {
    return LocalSize(global_.dim(dim), SizeOf(layout.dims[dim]));
  }
  // Local padding up to a multiple of the parts that the dimension is about to be split into.
  Instruction* PadForSplit(Instruction* x, int64_t dim, const ReshardStep& step) {
    return b_.PadTo(x, dim, SizeAfter(dim, step.after) * SizeOf(step.axes));
  }
  // After a gather there may be padding of the last parts at the end.
  Instruction* Trim(Instruction* x, int64_t dim, const Layout& after) {
    return b_.Slice(x, dim, 0, SizeAfter(dim, after));
  }

  Instruction* Slice(Instruction* x, const ReshardStep& step) {
    const int64_t size = SizeAfter(step.dim, step.after);
    Instruction* padded = PadForSplit(x, step.dim, step);
    Instruction* start = b_.Binary(Opcode::kMultiply, b_.Coordinate(step.axes), b_.Position(size));
    return b_.DynamicSlice(padded, step.dim, start, size);
  }

  // The split dimension becomes [parts, size], parts go first, are exchanged, and stand before the
  // concatenated dimension after that.
  Instruction* AllToAll(Instruction* x, const ReshardStep& step) {
    const int64_t parts = SizeOf(step.axes), rank = global_.rank();
    Instruction* padded = PadForSplit(x, step.to_dim, step);
    DimVector dims(padded->shape().dims().begin(), padded->shape().dims().end());
    dims[step.to_dim] /= parts;
    DimVector split = dims;
    split.insert(split.begin() + step.to_dim, parts);
    IntVector to_front = {step.to_dim};
    for (int64_t d = 0; d <= rank; ++d) {
      if (d != step.to_dim) to_front.push_back(d);
    }
    Instruction* exchanged = b_.AllToAll(b_.Transpose(b_.Reshape(padded, split), to_front), step.axes);
    IntVector back;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == step.dim) back.push_back(0);
      back.push_back(d + 1);
    }
    dims[step.dim] *= parts;
    return Trim(b_.Reshape(b_.Transpose(exchanged, back), dims), step.dim, step.after);
  }

  LocalBuilder& b_;
  const Shape& global_;
  const Opcode combiner_;
  const AxisList& fixed_;
};

}  // namespace

Instruction* EmitReshard(LocalBuilder& builder, Instruction* x, const Shape& global, const ReshardPlan& plan,
                         Opcode combiner, const AxisList& fixed) {
  Emitter emitter(builder, global, combiner, fixed);
  const Layout* before = &plan.from;
  for (const ReshardStep& step : plan.steps) {
    x = emitter.Emit(x, step, *before);
    before = &step.after;
  }
  return x;
}

Instruction* EmitBetweenMeshes(LocalBuilder& builder, Instruction* x, const Shape& global,
                               const Mesh& from_mesh, const Layout& from, const Mesh& to_mesh,
                               const Layout& to) {
  if (LocalShape(global, from) == LocalShape(global, to) &&
      from_mesh.device_count() == to_mesh.device_count()) {
    bool alike = true;
    for (size_t d = 0; d < from.dims.size(); ++d) alike &= SizeOf(from.dims[d]) == SizeOf(to.dims[d]);
    if (alike) return builder.Permute(x, PairsBetween(from_mesh, from, to_mesh, to, {}));
  }
  const Layout whole = Layout::Replicated(global.rank());
  LocalBuilder from_builder(builder.context(), builder.computation(),
                            std::make_shared<const Mesh>(from_mesh));
  x = EmitReshard(from_builder, x, global, PlanReshard(from_mesh, global, from, whole));
  LocalBuilder to_builder(builder.context(), builder.computation(), std::make_shared<const Mesh>(to_mesh));
  return EmitReshard(to_builder, x, global, PlanReshard(to_mesh, global, whole, to));
}

}  // namespace shoal
