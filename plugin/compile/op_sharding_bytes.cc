#include "plugin/compile/op_sharding_bytes.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace shoal {
namespace {

// Field numbers of xla.OpSharding.
enum Field {
  kType = 1,
  kTileAssignmentDimensions = 3,
  kTileAssignmentDevices = 4,
  kTupleShardings = 5,
  kReplicateOnLastTileDim = 6,
  kLastTileDims = 8,
  kIotaReshapeDims = 9,
  kIotaTransposePerm = 10,
};
enum WireType { kVarint = 0, kLengthDelimited = 2 };

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendNumber(Field field, uint64_t value, std::string& out) {
  AppendVarint(field << 3 | kVarint, out);
  AppendVarint(value, out);
}

void AppendBytes(Field field, const std::string& bytes, std::string& out) {
  AppendVarint(field << 3 | kLengthDelimited, out);
  AppendVarint(bytes.size(), out);
  out += bytes;
}

template <typename Numbers>
void AppendPacked(Field field, const Numbers& numbers, std::string& out) {
  if (numbers.empty()) return;
  std::string packed;
  for (const auto number : numbers) AppendVarint(static_cast<uint64_t>(number), packed);
  AppendBytes(field, packed, out);
}

constexpr int kMaxTupleDepth = 32;

absl::Status Malformed() { return absl::InvalidArgumentError("malformed OpSharding proto"); }

absl::StatusOr<uint64_t> TakeVarint(absl::string_view& in) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const unsigned char byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return Malformed();
}

absl::StatusOr<absl::string_view> TakeBytes(absl::string_view& in) {
  SHOAL_ASSIGN_OR_RETURN(uint64_t size, TakeVarint(in));
  if (size > in.size()) return Malformed();
  const absl::string_view bytes = in.substr(0, size);
  in.remove_prefix(size);
  return bytes;
}

// A repeated number: packed, or one of its single entries.
template <typename T>
absl::Status TakeNumbers(WireType wire, absl::string_view& in, std::vector<T>& numbers) {
  if (wire == kVarint) {
    SHOAL_ASSIGN_OR_RETURN(uint64_t number, TakeVarint(in));
    numbers.push_back(static_cast<T>(number));
    return absl::OkStatus();
  }
  SHOAL_ASSIGN_OR_RETURN(absl::string_view packed, TakeBytes(in));
  while (!packed.empty()) {
    SHOAL_ASSIGN_OR_RETURN(uint64_t number, TakeVarint(packed));
    numbers.push_back(static_cast<T>(number));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpSharding> Parse(absl::string_view in, int depth);

absl::Status TakeField(uint64_t field, WireType wire, absl::string_view& in, int depth,
                       OpSharding& sharding) {
  switch (field) {
    case kType: {
      SHOAL_ASSIGN_OR_RETURN(uint64_t type, TakeVarint(in));
      sharding.type = static_cast<OpSharding::Type>(type);
      return absl::OkStatus();
    }
    case kTileAssignmentDimensions:
      return TakeNumbers(wire, in, sharding.tile_dims);
    case kTileAssignmentDevices:
      return TakeNumbers(wire, in, sharding.devices);
    case kTupleShardings: {
      SHOAL_ASSIGN_OR_RETURN(absl::string_view element, TakeBytes(in));
      SHOAL_ASSIGN_OR_RETURN(OpSharding parsed, Parse(element, depth + 1));
      sharding.elements.push_back(std::move(parsed));
      return absl::OkStatus();
    }
    case kReplicateOnLastTileDim: {
      SHOAL_ASSIGN_OR_RETURN(uint64_t is_set, TakeVarint(in));
      if (is_set != 0) sharding.last_tile_dims = {OpSharding::Type::kReplicated};
      return absl::OkStatus();
    }
    case kLastTileDims:
      return TakeNumbers(wire, in, sharding.last_tile_dims);
    case kIotaReshapeDims:
      return TakeNumbers(wire, in, sharding.reshape_dims);
    case kIotaTransposePerm:
      return TakeNumbers(wire, in, sharding.transpose);
    default:
      return wire == kVarint ? TakeVarint(in).status() : TakeBytes(in).status();
  }
}

absl::StatusOr<OpSharding> Parse(absl::string_view in, int depth) {
  if (depth > kMaxTupleDepth) return Malformed();
  OpSharding sharding;
  while (!in.empty()) {
    SHOAL_ASSIGN_OR_RETURN(uint64_t key, TakeVarint(in));
    const uint64_t wire = key & 7;
    if (wire != kVarint && wire != kLengthDelimited) return Malformed();
    SHOAL_RETURN_IF_ERROR(TakeField(key >> 3, static_cast<WireType>(wire), in, depth, sharding));
  }
  return sharding;
}

}  // namespace

absl::StatusOr<OpSharding> ParseOpShardingBytes(absl::string_view bytes) { return Parse(bytes, 0); }

std::string SerializeOpSharding(const OpSharding& sharding) {
  std::string out;
  if (sharding.type != OpSharding::Type::kReplicated)
    AppendNumber(kType, static_cast<uint64_t>(sharding.type), out);
  AppendPacked(kTileAssignmentDimensions, sharding.tile_dims, out);
  AppendPacked(kTileAssignmentDevices, sharding.devices, out);
  for (const OpSharding& element : sharding.elements)
    AppendBytes(kTupleShardings, SerializeOpSharding(element), out);
  const bool only_replicated =
      sharding.last_tile_dims.size() == 1 && sharding.last_tile_dims[0] == OpSharding::Type::kReplicated;
  if (only_replicated) {
    AppendNumber(kReplicateOnLastTileDim, 1, out);
  } else {
    AppendPacked(kLastTileDims, sharding.last_tile_dims, out);
  }
  AppendPacked(kIotaReshapeDims, sharding.reshape_dims, out);
  AppendPacked(kIotaTransposePerm, sharding.transpose, out);
  return out;
}

}  // namespace shoal
