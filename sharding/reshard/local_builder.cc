#include "sharding/reshard/local_builder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/hlo/participants.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/ops/reduction.h"
#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

int64_t HighestChannel(const Module& module) {
  int64_t highest = 0;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (const auto* c = std::get_if<CollectiveAttributes>(&instruction->attributes())) {
        highest = std::max(highest, c->channel_id);
      }
    }
  }
  return highest;
}

// Sums and differences of a few positions stay in range as well.
ElementType PositionTypeFor(const Module& module) {
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max() / 4;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Shape& leaf : instruction->shape().Leaves()) {
        const bool is_long = leaf.IsArray() && std::any_of(leaf.dims().begin(), leaf.dims().end(),
                                                           [](int64_t size) { return size > kLongest; });
        if (is_long) return ElementType::kS64;
      }
    }
  }
  return ElementType::kS32;
}

}  // namespace

Literal IdentityOf(Opcode combiner, ElementType type) {
  return ReductionIdentity(combiner, type).value_or(Literal(Shape::Scalar(type)));
}

SpmdContext::SpmdContext(Module& module, std::shared_ptr<const Mesh> mesh)
    : module_(module),
      mesh_(std::move(mesh)),
      next_channel_(HighestChannel(module) + 1),
      position_type_(PositionTypeFor(module)) {}

Computation* SpmdContext::ScalarBody(Opcode opcode, ElementType type) {
  Computation*& body = scalar_bodies_[{opcode, type}];
  if (body == nullptr) body = AddScalarBody(module_, opcode, type);
  return body;
}

Instruction* LocalBuilder::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                               Attributes attributes, absl::Span<Computation* const> called) {
  Instruction* added = computation()->Add(opcode, std::move(shape), operands, std::move(attributes), called);
  added->set_op_name(op_name());
  return added;
}

Instruction* LocalBuilder::Coordinate(const AxisList& axes) {
  std::vector<int64_t> coordinates(SizeOf(axes));
  std::iota(coordinates.begin(), coordinates.end(), 0);
  return OfPart(axes, coordinates);
}

Instruction* LocalBuilder::OfPart(const AxisList& axes, absl::Span<const int64_t> values) {
  std::string table;
  for (int64_t position : Positions(mesh())) {
    const int64_t value = position < 0 ? 0 : values[shoal::Coordinate(mesh(), position, axes)];
    table.append(reinterpret_cast<const char*>(&value), ByteWidth(position_type()));  // little-endian
  }
  return OfPartition(std::move(table));
}

Instruction* LocalBuilder::OfPartition(std::string table) {
  Instruction*& known = of_partition_[table];
  if (known != nullptr) return known;
  if (partition_id_ == nullptr)
    partition_id_ = Add(Opcode::kPartitionId, Shape::Scalar(ElementType::kU32), {});
  const ElementType type = position_type();
  const Shape shape = Shape::Array(type, {static_cast<int64_t>(table.size()) / ByteWidth(type)});
  Instruction* values = computation()->AddConstant(*Literal::FromBytes(shape, table));
  Instruction* one = Add(Opcode::kDynamicSlice, Shape::Array(type, {1}), {values, partition_id_},
                         DynamicSliceAttributes{{1}});
  return known = Reshape(one, {});
}

Instruction* LocalBuilder::Position(int64_t value) {
  Instruction*& known = constants_[value];
  if (known == nullptr) {
    known = computation()->AddConstant(Literal::Scalar(position_type(), value));
  }
  return known;
}

Instruction* LocalBuilder::Zero(ElementType type) {
  return computation()->AddConstant(Literal(Shape::Scalar(type)));
}

Instruction* LocalBuilder::BroadcastScalar(Instruction* scalar, absl::Span<const int64_t> dims) {
  return Broadcast(scalar, dims, {});
}

Instruction* LocalBuilder::Slice(Instruction* x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  if (start == 0 && limit == x->shape().dim(dim) && stride == 1) return x;
  IntVector starts(x->shape().rank(), 0), limits(x->shape().dims().begin(), x->shape().dims().end());
  IntVector strides(x->shape().rank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return HloBuilder::Slice(x, std::move(starts), std::move(limits), std::move(strides));
}

Instruction* LocalBuilder::DynamicSlice(Instruction* x, int64_t dim, Instruction* start, int64_t size) {
  if (size == x->shape().dim(dim)) return x;
  IntVector sizes(x->shape().dims().begin(), x->shape().dims().end());
  sizes[dim] = size;
  std::vector<Instruction*> starts;
  for (int64_t d = 0; d < x->shape().rank(); ++d) starts.push_back(d == dim ? start : Position(0));
  return HloBuilder::DynamicSlice(x, starts, std::move(sizes));
}

Instruction* LocalBuilder::PadTo(Instruction* x, int64_t dim, int64_t size) {
  if (x->shape().dim(dim) == size) return x;
  return Pad(x, dim, 0, size - x->shape().dim(dim), Zero(x->shape().element_type()));
}

Instruction* LocalBuilder::Pad(Instruction* x, int64_t dim, int64_t low, int64_t high, Instruction* value) {
  PadAttributes pad;
  pad.low.assign(x->shape().rank(), 0);
  pad.high = pad.interior = pad.low;
  pad.low[dim] = low;
  pad.high[dim] = high;
  DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
  dims[dim] += low + high;
  return Add(Opcode::kPad, x->shape().WithDims(dims), {x, value}, std::move(pad));
}

// Collectives count the partitions of all replicas: each of these does among its own what the first one does.
Groups LocalBuilder::GroupsOf(const AxisList& axes) const {
  Groups groups = GroupsAlong(mesh(), axes);
  const ModuleConfig& config = context_.module().config();
  const size_t count = groups.size();
  for (int64_t replica = 1; replica < config.num_replicas; ++replica) {
    for (size_t i = 0; i < count; ++i) {
      groups.push_back(groups[i]);
      for (int64_t& member : groups.back()) member += replica * config.num_partitions;
    }
  }
  return groups;
}

CollectiveAttributes LocalBuilder::Among(const AxisList& axes, IntVector dimensions) {
  CollectiveAttributes collective;
  collective.replica_groups = GroupsOf(axes);
  collective.dimensions = std::move(dimensions);
  collective.channel_id = context_.NextChannel();
  collective.use_global_device_ids = true;
  return collective;
}

Instruction* LocalBuilder::AllReduce(Instruction* x, const AxisList& axes, Opcode combiner) {
  return Add(Opcode::kAllReduce, x->shape(), {x}, Among(axes, {}),
             {context_.ScalarBody(combiner, x->shape().element_type())});
}

Instruction* LocalBuilder::AllGather(Instruction* x, const AxisList& axes, int64_t dim) {
  DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
  dims[dim] *= SizeOf(axes);
  return Add(Opcode::kAllGather, x->shape().WithDims(dims), {x}, Among(axes, {dim}));
}

Instruction* LocalBuilder::ReduceScatter(Instruction* x, const AxisList& axes, int64_t dim, Opcode combiner) {
  DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
  dims[dim] /= SizeOf(axes);
  return Add(Opcode::kReduceScatter, x->shape().WithDims(dims), {x}, Among(axes, {dim}),
             {context_.ScalarBody(combiner, x->shape().element_type())});
}

Instruction* LocalBuilder::CollectiveBroadcast(Instruction* x, const AxisList& axes, int64_t part) {
  CollectiveAttributes collective = Among(axes, {});
  for (IntVector& group : collective.replica_groups) std::swap(group[0], group[part]);  // the source is first
  return Add(Opcode::kCollectiveBroadcast, x->shape(), {x}, std::move(collective));
}

Instruction* LocalBuilder::AllToAll(Instruction* x, const AxisList& axes) {
  CollectiveAttributes collective;
  collective.replica_groups = GroupsOf(axes);
  collective.dimensions = {0, 0};
  collective.channel_id = context_.NextChannel();
  return Add(Opcode::kAllToAll, x->shape(), {x}, std::move(collective));
}

Instruction* LocalBuilder::RaggedAllToAll(absl::Span<Instruction* const> operands, const AxisList& axes) {
  return Add(Opcode::kAllToAll, operands[1]->shape(), operands,
             shoal::RaggedAllToAll(GroupsOf(axes), context_.NextChannel()));
}

Instruction* LocalBuilder::Permute(Instruction* x, Pairs pairs) {
  const ModuleConfig& config = context_.module().config();
  const size_t count = pairs.size();
  for (int64_t shift = config.num_partitions; shift < ParticipantCount(config);
       shift += config.num_partitions) {
    for (size_t i = 0; i < count; ++i) pairs.emplace_back(pairs[i].first + shift, pairs[i].second + shift);
  }
  CollectiveAttributes collective;
  collective.source_target_pairs = std::move(pairs);
  collective.channel_id = context_.NextChannel();
  return Add(Opcode::kCollectivePermute, x->shape(), {x}, std::move(collective));
}

Instruction* LocalBuilder::MaskPadding(Instruction* x, int64_t dim, int64_t global, const AxisList& axes,
                                       Instruction* value) {
  const int64_t local = x->shape().dim(dim);
  if (local * SizeOf(axes) == global) return x;
  const Shape index_shape = x->shape().WithElementType(position_type());
  Instruction* index = Add(Opcode::kIota, index_shape, {}, DimensionsAttributes{{dim}});
  // Valid are the first global - coordinate*local elements.
  Instruction* offset = Binary(Opcode::kMultiply, Coordinate(axes), Position(local));
  Instruction* valid = Binary(Opcode::kSubtract, Position(global), offset);
  Instruction* pred = Compare(ComparisonDirection::kLt, index, BroadcastScalar(valid, index_shape.dims()));
  return Select(pred, x, BroadcastScalar(value, x->shape().dims()));
}

}  // namespace shoal
