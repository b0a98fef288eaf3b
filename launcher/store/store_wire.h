// What the job's TCP store sends: one request frame, one reply frame, in turn, on any number of connections.
//
//   request  u8 op | u64 timeout in milliseconds (kGet) | u32 size of key | key | value
//   reply    u8 absl::StatusCode | value, or the error's message
//
// The first request of a connection is kHello with the job's name as key: a port may be somebody else's by
// now. The ops are numbers on the wire: not to be renumbered.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

enum class StoreOp : uint8_t {
  kHello = 1,
  kSet = 2,
  kGet = 3,
  kTryGet = 4,
  kSetWhenLost = 5,  // set the key once this connection has ended
  kList = 6,         // all keys that start with this one, and their values
  kClock = 7,        // nanoseconds since 1970 by process 0's clock, in decimal
};

struct StoreRequest {
  StoreOp op = StoreOp::kHello;
  uint64_t timeout_ms = 0;
  std::string key;
  std::string value;
};

inline constexpr size_t kRequestHead = sizeof(uint8_t) + sizeof(uint64_t) + sizeof(uint32_t);

inline std::string EncodeRequest(StoreOp op, uint64_t timeout_ms, absl::string_view key,
                                 absl::string_view value) {
  const uint32_t key_size = static_cast<uint32_t>(key.size());
  std::string bytes(1, static_cast<char>(op));
  bytes.append(reinterpret_cast<const char*>(&timeout_ms), sizeof(timeout_ms));
  bytes.append(reinterpret_cast<const char*>(&key_size), sizeof(key_size));
  bytes.append(key.data(), key.size());
  bytes.append(value.data(), value.size());
  return bytes;
}

inline absl::StatusOr<StoreRequest> DecodeRequest(absl::string_view bytes) {
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

inline std::string EncodeReply(const absl::StatusOr<std::string>& reply) {
  std::string bytes(1, static_cast<char>(reply.status().code()));
  bytes += reply.ok() ? *reply : std::string(reply.status().message());
  return bytes;
}

inline absl::StatusOr<std::string> DecodeReply(absl::string_view bytes) {
  if (bytes.empty()) return absl::UnavailableError("an empty reply");
  const auto code = static_cast<absl::StatusCode>(bytes[0]);
  if (code == absl::StatusCode::kOk) return std::string(bytes.substr(1));
  if (bytes.size() == 1) return absl::UnavailableError("a reply that is an error without a message");
  return absl::Status(code, bytes.substr(1));
}

}  // namespace shoal
