// What the job's TCP store sends: one request frame, one reply frame, in turn, on any number of connections.
//
//   request  u8 op | u64 timeout in milliseconds (kGet) | u32 size of key | key | value
//   reply    u8 absl::StatusCode | value, or the error's message
//
// The first request of a connection is kHello with the job's name as key: a port may be somebody else's by
// now. The ops are numbers on the wire: not to be renumbered.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

std::string EncodeRequest(StoreOp op, uint64_t timeout_ms, absl::string_view key, absl::string_view value);
// InvalidArgument where the bytes are no request.
absl::StatusOr<StoreRequest> DecodeRequest(absl::string_view bytes);

std::string EncodeReply(const absl::StatusOr<std::string>& reply);
// The reply; Unavailable where the bytes are none.
absl::StatusOr<std::string> DecodeReply(absl::string_view bytes);

// The value of a reply to kList: a frame (socket.h) of each key, and of its value behind it.
using StoreEntries = std::vector<std::pair<std::string, std::string>>;
std::string EncodeList(const StoreEntries& entries);
absl::StatusOr<StoreEntries> DecodeList(absl::string_view bytes);

}  // namespace shoal
