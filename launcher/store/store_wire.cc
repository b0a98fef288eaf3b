#include "launcher/store/store_wire.h"

#include <cstring>

#include "launcher/store/socket.h"

namespace shoal {
namespace {

constexpr size_t kRequestHead = sizeof(uint8_t) + sizeof(uint64_t) + sizeof(uint32_t);

}  // namespace

std::string EncodeRequest(StoreOp op, uint64_t timeout_ms, absl::string_view key, absl::string_view value) {
  const uint32_t key_size = static_cast<uint32_t>(key.size());
  std::string bytes(1, static_cast<char>(op));
  bytes.append(reinterpret_cast<const char*>(&timeout_ms), sizeof(timeout_ms));
  bytes.append(reinterpret_cast<const char*>(&key_size), sizeof(key_size));
  bytes.append(key.data(), key.size());
  bytes.append(value.data(), value.size());
  return bytes;
}

absl::StatusOr<StoreRequest> DecodeRequest(absl::string_view bytes) {
  if (bytes.size() < kRequestHead) return absl::InvalidArgumentError("a request is cut short");
  StoreRequest request;
  request.op = static_cast<StoreOp>(bytes[0]);
  uint32_t key_size;
  std::memcpy(&request.timeout_ms, bytes.data() + 1, sizeof(request.timeout_ms));
  std::memcpy(&key_size, bytes.data() + 1 + sizeof(request.timeout_ms), sizeof(key_size));
  bytes.remove_prefix(kRequestHead);
  if (bytes.size() < key_size) return absl::InvalidArgumentError("a request is cut short");
  request.key = std::string(bytes.substr(0, key_size));
  request.value = std::string(bytes.substr(key_size));
  return request;
}

std::string EncodeReply(const absl::StatusOr<std::string>& reply) {
  std::string bytes(1, static_cast<char>(reply.status().code()));
  bytes += reply.ok() ? *reply : std::string(reply.status().message());
  return bytes;
}

absl::StatusOr<std::string> DecodeReply(absl::string_view bytes) {
  if (bytes.empty()) return absl::UnavailableError("an empty reply");
  const auto code = static_cast<absl::StatusCode>(bytes[0]);
  if (code == absl::StatusCode::kOk) return std::string(bytes.substr(1));
  if (bytes.size() == 1) return absl::UnavailableError("a reply that is an error without a message");
  return absl::Status(code, bytes.substr(1));
}

std::string EncodeList(const StoreEntries& entries) {
  std::string bytes;
  for (const auto& [key, value] : entries) {
    AppendFrame(key, &bytes);
    AppendFrame(value, &bytes);
  }
  return bytes;
}

absl::StatusOr<StoreEntries> DecodeList(absl::string_view bytes) {
  std::vector<std::string> parts;
  while (!bytes.empty()) {
    if (bytes.size() < kFrameHead || bytes.size() - kFrameHead < FrameSize(bytes.data())) {
      return absl::UnavailableError("a list of keys is cut short");
    }
    parts.emplace_back(bytes.substr(kFrameHead, FrameSize(bytes.data())));
    bytes.remove_prefix(kFrameHead + parts.back().size());
  }
  if (parts.size() % 2 != 0) return absl::UnavailableError("a list of keys is cut short");
  StoreEntries entries;
  for (size_t i = 0; i < parts.size(); i += 2)
    entries.emplace_back(std::move(parts[i]), std::move(parts[i + 1]));
  return entries;
}

}  // namespace shoal
