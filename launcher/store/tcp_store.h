// TcpStore: a KeyValueStore that asks process 0's TcpServer.
//
// Each call uses a connection of its own while it lasts, so that one which waits holds up no other.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/key_value_store.h"
#include "launcher/store/socket.h"
#include "launcher/store/store_wire.h"

namespace shoal {

// One look at another's clock: asked and answered by the own clock, the other's in between; in nanoseconds.
struct ClockReading {
  int64_t asked, theirs, answered;
};
// What the other clock shows more, by the reading that took least. REQUIRES: there is one.
absl::Duration ClockLeadOf(absl::Span<const ClockReading> readings);

class TcpStore : public KeyValueStore {
 public:
  // Tries `addresses` (HOST:PORT) in turn until the server of `job` answers at one of them; DeadlineExceeded
  // with the last failure after `timeout`.
  static absl::StatusOr<std::unique_ptr<TcpStore>> Connect(const std::vector<std::string>& addresses,
                                                           absl::string_view job, absl::Duration timeout);

  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<std::string> TryGet(absl::string_view key) override;

  // What process 0's clock shows more than this machine's, to half the time that a question takes.
  absl::StatusOr<absl::Duration> ClockLead();

  // A connection whose end sets `key`.
  class Session {
   public:
    explicit Session(Socket socket) : socket_(std::move(socket)) {}
    // All keys that start with `prefix`; nothing where process 0 does not answer within `wait`: it may be
    // stopped. The next call, which must be for the same prefix, goes on waiting. Aborted where the host of
    // process 0 cannot be reached.
    absl::StatusOr<std::optional<StoreEntries>> List(absl::string_view prefix, absl::Duration wait);

   private:
    Socket socket_;
    bool asked_ = false;
  };
  absl::StatusOr<std::unique_ptr<Session>> SetWhenLost(absl::string_view key, absl::string_view value);

 private:
  TcpStore(std::string address, absl::string_view job, Socket first);
  absl::StatusOr<std::string> Call(StoreOp op, absl::string_view key, absl::string_view value,
                                   absl::Duration timeout);

  const std::string address_;
  const std::string job_;
  std::mutex mutex_;
  std::vector<Socket> idle_;  // guarded by mutex_
};

}  // namespace shoal
