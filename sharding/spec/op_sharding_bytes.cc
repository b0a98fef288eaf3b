#include "sharding/spec/op_sharding_bytes.h"

#include <utility>

#include "core/hlo/proto/hlo.pb.h"

namespace shoal {
namespace {

wire::OpShardingProto ToProto(const OpSharding& sharding) {
  wire::OpShardingProto proto;
  proto.set_type(static_cast<int32_t>(sharding.type));
  proto.mutable_tile_assignment_dimensions()->Assign(sharding.tile_dims.begin(), sharding.tile_dims.end());
  proto.mutable_tile_assignment_devices()->Assign(sharding.devices.begin(), sharding.devices.end());
  for (const OpSharding& element : sharding.elements) *proto.add_tuple_shardings() = ToProto(element);
  // XLA has a field of its own for the usual case.
  if (sharding.last_tile_dims.size() == 1 && sharding.last_tile_dims[0] == OpSharding::Type::kReplicated) {
    proto.set_replicate_on_last_tile_dim(true);
  } else {
    for (OpSharding::Type type : sharding.last_tile_dims)
      proto.add_last_tile_dims(static_cast<int32_t>(type));
  }
  proto.mutable_iota_reshape_dims()->Assign(sharding.reshape_dims.begin(), sharding.reshape_dims.end());
  proto.mutable_iota_transpose_perm()->Assign(sharding.transpose.begin(), sharding.transpose.end());
  return proto;
}

OpSharding FromProto(const wire::OpShardingProto& proto) {
  OpSharding sharding;
  sharding.type = static_cast<OpSharding::Type>(proto.type());
  sharding.tile_dims.assign(proto.tile_assignment_dimensions().begin(),
                            proto.tile_assignment_dimensions().end());
  sharding.devices.assign(proto.tile_assignment_devices().begin(), proto.tile_assignment_devices().end());
  for (const wire::OpShardingProto& element : proto.tuple_shardings())
    sharding.elements.push_back(FromProto(element));
  if (proto.replicate_on_last_tile_dim()) sharding.last_tile_dims = {OpSharding::Type::kReplicated};
  for (int32_t type : proto.last_tile_dims())
    sharding.last_tile_dims.push_back(static_cast<OpSharding::Type>(type));
  sharding.reshape_dims.assign(proto.iota_reshape_dims().begin(), proto.iota_reshape_dims().end());
  sharding.transpose.assign(proto.iota_transpose_perm().begin(), proto.iota_transpose_perm().end());
  return sharding;
}

}  // namespace

absl::StatusOr<OpSharding> ParseOpShardingBytes(absl::string_view bytes) {
  wire::OpShardingProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::InvalidArgumentError("malformed OpSharding proto");
  return FromProto(proto);
}

std::string SerializeOpSharding(const OpSharding& sharding) { return ToProto(sharding).SerializeAsString(); }

}  // namespace shoal
