// The port through which a running program exchanges arrays with its host, by channels. core owns it;
// plugin/client implements it over the callbacks that the caller of one execution gives.
//
// One object serves one device in one run. No call blocks; a future is set when the transfer is over, on any
// thread. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/tasks/future.h"

namespace shoal {

// What a program transfers, fixed at compile time. A send and a recv of one id are two channels.
struct HostChannel {
  int64_t id = 0;
  bool sends = false;  // to the host, otherwise from it
  std::string what;    // "send of (f32[4]) at train.py:41", for messages
};

class HostTransfers {
 public:
  virtual ~HostTransfers() = default;
  // Hands the arrays' bytes to the host, as one transfer. They may be overwritten once the future is set.
  virtual Future Send(const HostChannel& channel, absl::Span<const absl::Span<const char>> arrays) = 0;
  // Has the host fill the arrays, in order.
  virtual Future Receive(const HostChannel& channel, absl::Span<const absl::Span<char>> arrays) = 0;
  // Ends what is under way and what is still asked for with `why`, on this device and the others of the run.
  // A callback that is being called is waited for.
  virtual void Abort(const absl::Status& why) = 0;
};

}  // namespace shoal
