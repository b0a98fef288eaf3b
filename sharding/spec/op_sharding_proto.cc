#include "sharding/spec/op_sharding_proto.h"

namespace shoal {
namespace {

// Field numbers of OpSharding.
enum Field : int {
  kType = 1,
  kTileAssignmentDimensions = 3,
  kTileAssignmentDevices = 4,
  kTupleShardings = 5,
  kReplicateOnLastTileDim = 6,
  kLastTileDims = 8,
  kIotaReshapeDims = 9,
  kIotaTransposePerm = 10,
};
// Wire types.
constexpr uint64_t kVarint = 0, kBytes = 2;

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendBytes(Field field, const std::string& bytes, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | kBytes, out);
  AppendVarint(bytes.size(), out);
  out += bytes;
}

template <typename Values>
void AppendPacked(Field field, const Values& values, std::string& out) {
  if (values.empty()) return;
  std::string packed;
  for (auto value : values) AppendVarint(static_cast<uint64_t>(value), packed);
  AppendBytes(field, packed, out);
}

}  // namespace

std::string SerializeOpSharding(const OpSharding& sharding) {
  std::string out;
  if (sharding.type != OpSharding::Type::kReplicated) {
    AppendVarint(kType << 3 | kVarint, out);
    AppendVarint(static_cast<uint64_t>(sharding.type), out);
  }
  std::vector<int64_t> dims = sharding.tile_dims;
  if (sharding.type == OpSharding::Type::kMaximal) dims = {1};
  AppendPacked(kTileAssignmentDimensions, dims, out);
  AppendPacked(kTileAssignmentDevices, sharding.devices, out);
  for (const OpSharding& element : sharding.elements) {
    AppendBytes(kTupleShardings, SerializeOpSharding(element), out);
  }
  const bool last_replicated =
      sharding.last_tile_dims == std::vector<OpSharding::Type>{OpSharding::Type::kReplicated};
  if (last_replicated) {
    AppendVarint(kReplicateOnLastTileDim << 3 | kVarint, out);
    AppendVarint(1, out);
  } else {
    AppendPacked(kLastTileDims, sharding.last_tile_dims, out);
  }
  AppendPacked(kIotaReshapeDims, sharding.reshape_dims, out);
  AppendPacked(kIotaTransposePerm, sharding.transpose, out);
  return out;
}

}  // namespace shoal
