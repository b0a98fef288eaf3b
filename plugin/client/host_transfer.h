// What a running program exchanges with its host: PJRT's send and receive callbacks, and the stream through
// which a receive is filled.
//
// Callbacks are called on threads that may wait, never on that of Execute's caller; those of one channel on
// one device one after another, others perhaps at once. They, and all that they refer to, must outlive the
// run. The run of a device ends when all its transfers have: a stream that is neither filled nor destroyed
// keeps it. A transfer that fails ends those of all devices of the run that are under way, so that no device
// waits for what nobody sends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/runtime/host_transfers.h"
#include "core/tasks/future.h"

namespace shoal {

// Bytes, and how they are given back. Movable.
class PjRtChunk {
 public:
  PjRtChunk(void* data, int64_t size, std::function<void(void*)> deleter)
      : data_(data), size_(size), deleter_(std::move(deleter)) {}
  static PjRtChunk Copy(absl::Span<const char> bytes);
  PjRtChunk(PjRtChunk&& other) noexcept { *this = std::move(other); }
  PjRtChunk& operator=(PjRtChunk&& other) noexcept;
  ~PjRtChunk();

  void* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  int64_t size_ = 0;
  std::function<void(void*)> deleter_;  // null: moved away, or nothing to do
};

// Takes the bytes of one receive, in order and in pieces of any size. Thread-safe. May outlive the run, which
// it then tells nothing any more. Destroyed before it is full it is the error of the run.
class CopyToDeviceStream {
 public:
  class State;
  explicit CopyToDeviceStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  CopyToDeviceStream(const CopyToDeviceStream&) = delete;
  ~CopyToDeviceStream();

  // Copies the chunk before it returns. The future's error: the chunk does not fit into what is left, or the
  // run has ended.
  Future AddChunk(PjRtChunk chunk);
  int64_t total_bytes() const;
  int64_t granule_size_in_bytes() const { return 1; }
  int64_t current_bytes() const;

 private:
  const std::shared_ptr<State> state_;
};

// Called for each array of a send in turn, the last one with `done`; an error is the run's.
struct SendCallback {
  int64_t channel_id = 0;
  std::function<absl::Status(PjRtChunk chunk, int64_t total_bytes, bool done)> callback;
};
// Called for each receive; the stream may be filled later, on any thread.
struct RecvCallback {
  int64_t channel_id = 0;
  std::function<void(std::unique_ptr<CopyToDeviceStream>)> callback;
};
// Those of one device.
struct HostCallbacks {
  std::vector<SendCallback> send;
  std::vector<RecvCallback> recv;
};

// One object a device, for one run. InvalidArgument if a channel has no callback on one of them;
// `program` is its name, for messages. Callbacks of other channels are never called.
absl::StatusOr<std::vector<std::shared_ptr<HostTransfers>>> StartHostTransfers(
    absl::string_view program, absl::Span<const HostChannel> channels,
    absl::Span<const HostCallbacks> devices, size_t device_count);

}  // namespace shoal
