#include "core/hlo/op_sharding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/proto/hlo.pb.h"
#include "core/types/shape.h"

namespace shoal {
namespace {

// Far more than any machine has; keeps hostile bytes from asking for memory.
constexpr int64_t kMostDevices = int64_t{1} << 20;

absl::string_view TypeWord(OpSharding::Type type) {
  switch (type) {
    case OpSharding::Type::kManual:
      return "manual";
    case OpSharding::Type::kUnknown:
      return "unknown";
    case OpSharding::Type::kUnreduced:
      return "unreduced";
    default:
      return "replicated";
  }
}

std::string TiledText(const OpSharding& s) {
  std::string text = absl::StrCat("{devices=[", absl::StrJoin(s.tile_dims, ","), "]");
  if (s.reshape_dims.empty()) {
    absl::StrAppend(&text, absl::StrJoin(s.devices, ","));
  } else {
    absl::StrAppend(&text, "<=[", absl::StrJoin(s.reshape_dims, ","), "]");
    if (!std::is_sorted(s.transpose.begin(), s.transpose.end())) {
      absl::StrAppend(&text, "T(", absl::StrJoin(s.transpose, ","), ")");
    }
  }
  if (s.last_tile_dims == std::vector<OpSharding::Type>{OpSharding::Type::kReplicated}) {
    absl::StrAppend(&text, " last_tile_dim_replicate");
  } else if (!s.last_tile_dims.empty()) {
    absl::StrAppend(
        &text, " last_tile_dims={",
        absl::StrJoin(s.last_tile_dims, ", ",
                      [](std::string* out, OpSharding::Type type) { absl::StrAppend(out, TypeWord(type)); }),
        "}");
  }
  return text + "}";
}

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

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("an OpSharding proto ", what));
}

absl::Status CheckTiles(const OpSharding& s) {
  const int64_t tiles = CheckedProduct(s.tile_dims).value_or(0);
  if (tiles < 1 || tiles > kMostDevices)
    return Wrong(
        absl::StrCat("of [", absl::StrJoin(s.tile_dims, ","), "] tiles, not of 1 to ", kMostDevices));
  if (s.last_tile_dims.size() > s.tile_dims.size()) return Wrong("with more last_tile_dims than dimensions");
  if (s.reshape_dims.empty()) {
    if (static_cast<int64_t>(s.devices.size()) == tiles) return absl::OkStatus();
    return Wrong(absl::StrCat("of ", tiles, " tiles with ", s.devices.size(), " devices"));
  }
  if (CheckedProduct(s.reshape_dims).value_or(0) != tiles)
    return Wrong(
        absl::StrCat("of ", tiles, " tiles with an iota of [", absl::StrJoin(s.reshape_dims, ","), "]"));
  std::vector<int> sorted = s.transpose;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int>(i)) return Wrong("whose iota_transpose_perm is no permutation");
  }
  if (sorted.size() != s.reshape_dims.size()) return Wrong("whose iota_transpose_perm has another rank");
  return absl::OkStatus();
}

absl::Status Check(const OpSharding& s) {
  switch (s.type) {
    case OpSharding::Type::kReplicated:
    case OpSharding::Type::kManual:
    case OpSharding::Type::kUnknown:
    case OpSharding::Type::kUnreduced:
      return absl::OkStatus();
    case OpSharding::Type::kMaximal:
      return s.devices.size() == 1 ? absl::OkStatus() : Wrong("that is maximal wants one device");
    case OpSharding::Type::kOther:
      return CheckTiles(s);
    case OpSharding::Type::kTuple:
      for (const OpSharding& element : s.elements) {
        if (element.type == OpSharding::Type::kTuple) return Wrong("holds a tuple in a tuple");
        SHOAL_RETURN_IF_ERROR(Check(element));
      }
      return absl::OkStatus();
  }
  return Wrong(absl::StrCat("of type ", static_cast<int>(s.type)));
}

}  // namespace

std::vector<int64_t> DevicesOf(const OpSharding& s) {
  if (s.reshape_dims.empty()) return s.devices;
  const DimVector strides = RowMajorStrides(s.reshape_dims);
  std::vector<int64_t> devices = {0};
  for (int dim : s.transpose) {
    std::vector<int64_t> next;
    for (int64_t base : devices) {
      for (int64_t i = 0; i < s.reshape_dims[dim]; ++i) next.push_back(base + i * strides[dim]);
    }
    devices = std::move(next);
  }
  return devices;
}

std::string ToGspmdText(const OpSharding& sharding) {
  switch (sharding.type) {
    case OpSharding::Type::kMaximal:
      return absl::StrCat("{maximal device=", sharding.devices.empty() ? 0 : sharding.devices[0], "}");
    case OpSharding::Type::kOther:
      return TiledText(sharding);
    case OpSharding::Type::kTuple:
      return absl::StrCat("{",
                          absl::StrJoin(sharding.elements, ", ",
                                        [](std::string* out, const OpSharding& element) {
                                          absl::StrAppend(out, ToGspmdText(element));
                                        }),
                          "}");
    default:
      return absl::StrCat("{", TypeWord(sharding.type), "}");
  }
}

std::string SerializeOpSharding(const OpSharding& sharding) { return ToProto(sharding).SerializeAsString(); }

absl::StatusOr<OpSharding> ParseOpSharding(absl::string_view bytes) {
  wire::OpShardingProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::InvalidArgumentError("bytes that are no OpSharding proto");
  OpSharding sharding = FromProto(proto);
  SHOAL_RETURN_IF_ERROR(Check(sharding));
  return sharding;
}

}  // namespace shoal
