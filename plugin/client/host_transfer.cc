#include "plugin/client/host_transfer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/tasks/waiting_threads.h"
#include "plugin/client/strided_copy.h"

namespace shoal {

PjRtChunk PjRtChunk::Copy(absl::Span<const char> bytes) {
  void* const data = std::malloc(std::max<size_t>(bytes.size(), 1));
  CopyBytes(bytes.data(), static_cast<char*>(data), static_cast<int64_t>(bytes.size()));
  return {data, static_cast<int64_t>(bytes.size()), [](void* data) { std::free(data); }};
}

PjRtChunk& PjRtChunk::operator=(PjRtChunk&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(deleter_, other.deleter_);
  return *this;
}

PjRtChunk::~PjRtChunk() {
  if (deleter_) deleter_(data_);
}

// A receive: what the stream, the run and an abort share.
class CopyToDeviceStream::State {
 public:
  State(std::string what, absl::Span<const absl::Span<char>> arrays)
      : what_(std::move(what)), arrays_(arrays.begin(), arrays.end()) {
    for (const absl::Span<char>& array : arrays) total_ += static_cast<int64_t>(array.size());
  }

  Future future() const { return promise_.future(); }
  int64_t total() const { return total_; }
  int64_t received() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return received_;
  }

  absl::Status Add(const PjRtChunk& chunk) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (chunk.size() < 0 || chunk.size() > total_ - received_) {
        return absl::InvalidArgumentError(absl::StrCat(what_, ": a chunk of ", chunk.size(), " bytes, ",
                                                       total_ - received_, " of ", total_,
                                                       " are still to come"));
      }
      if (ended_ && chunk.size() > 0) return status_;
      // Under the lock, for whoever ends the run takes the memory away; so without the arena's help, whose
      // other work might end the run.
      Scatter(static_cast<const char*>(chunk.data()), chunk.size());
      if (ended_ || received_ < total_) return absl::OkStatus();
      ended_ = true;
    }
    promise_.Set(absl::OkStatus());
    return absl::OkStatus();
  }

  // No more will come, or is wanted. Nothing if it is over.
  void End(const absl::Status& why) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (ended_) return;
      ended_ = true;
      status_ = why;
    }
    promise_.Set(why);
  }
  void EndIfEmpty() {
    if (total_ == 0) End(absl::OkStatus());
  }
  void StreamDestroyed() {
    End(absl::InvalidArgumentError(
        absl::StrCat(what_, ": its stream was destroyed after ", received(), " of ", total_, " bytes")));
  }

 private:
  void Scatter(const char* data, int64_t size) {
    int64_t begin = 0;  // of the array in the transfer
    for (const absl::Span<char>& array : arrays_) {
      const int64_t offset = received_ - begin;
      begin += static_cast<int64_t>(array.size());
      if (offset >= static_cast<int64_t>(array.size())) continue;
      const int64_t part = std::min<int64_t>(size, static_cast<int64_t>(array.size()) - offset);
      if (part > 0) std::memcpy(array.data() + offset, data, part);
      data += part;
      size -= part;
      received_ += part;
    }
  }

  const std::string what_;
  const std::vector<absl::Span<char>> arrays_;  // the run's memory; not to be touched once ended
  int64_t total_ = 0;
  mutable std::mutex mutex_;
  int64_t received_ = 0;  // guarded by mutex_
  bool ended_ = false;    // guarded by mutex_
  absl::Status status_;   // guarded by mutex_
  Promise promise_;
};

CopyToDeviceStream::~CopyToDeviceStream() { state_->StreamDestroyed(); }
Future CopyToDeviceStream::AddChunk(PjRtChunk chunk) { return state_->Add(chunk); }
int64_t CopyToDeviceStream::total_bytes() const { return state_->total(); }
int64_t CopyToDeviceStream::current_bytes() const { return state_->received(); }

namespace {

using StreamState = std::shared_ptr<CopyToDeviceStream::State>;

// The receives of all devices of one run that are under way.
class OpenReceives {
 public:
  // The error if the run was aborted.
  absl::Status Add(const StreamState& state) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_.ok()) open_.insert(state);
    return aborted_;
  }
  void Remove(const StreamState& state) {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(state);
  }
  void Abort(const absl::Status& why) {
    absl::flat_hash_set<StreamState> open;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!aborted_.ok()) return;
      aborted_ = why;
      open.swap(open_);
    }
    for (const StreamState& state : open) state->End(why);
  }
  absl::Status status() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return aborted_;
  }

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_set<StreamState> open_;  // guarded by mutex_
  absl::Status aborted_;                   // guarded by mutex_
};

template <typename Callback>
const Callback* Find(const std::vector<Callback>& callbacks, int64_t channel_id) {
  for (const Callback& callback : callbacks) {
    if (callback.channel_id == channel_id) return &callback;
  }
  return nullptr;
}

std::string Name(const HostChannel& channel) {
  return absl::StrCat("channel ", channel.id, ", ", channel.what);
}

class DeviceTransfers : public HostTransfers, public std::enable_shared_from_this<DeviceTransfers> {
 public:
  DeviceTransfers(HostCallbacks callbacks, std::shared_ptr<OpenReceives> open)
      : callbacks_(std::move(callbacks)), open_(std::move(open)) {}

  Future Send(const HostChannel& channel, absl::Span<const absl::Span<const char>> arrays) override {
    if (absl::Status aborted = open_->status(); !aborted.ok()) return aborted;
    // A copy, for the host may keep a chunk until the run has gone on or is over.
    auto chunks = std::make_shared<std::vector<PjRtChunk>>();
    for (const absl::Span<const char>& array : arrays) chunks->push_back(PjRtChunk::Copy(array));
    if (chunks->empty()) chunks->push_back(PjRtChunk::Copy({}));
    const SendCallback* callback = Find(callbacks_.send, channel.id);
    return Call([callback, chunks, name = Name(channel)] {
      int64_t total = 0;
      for (const PjRtChunk& chunk : *chunks) total += chunk.size();
      for (PjRtChunk& chunk : *chunks) {
        absl::Status status = callback->callback(std::move(chunk), total, &chunk == &chunks->back());
        if (!status.ok()) return Annotate(status, name);
      }
      return absl::OkStatus();
    });
  }

  Future Receive(const HostChannel& channel, absl::Span<const absl::Span<char>> arrays) override {
    auto state = std::make_shared<CopyToDeviceStream::State>(Name(channel), arrays);
    if (absl::Status aborted = open_->Add(state); !aborted.ok()) return aborted;
    const RecvCallback* callback = Find(callbacks_.recv, channel.id);
    const Future filled = state->future();
    filled.Then([open = open_, state](const absl::Status&) { open->Remove(state); });
    state->EndIfEmpty();
    const Future called = Call([callback, state] {
      callback->callback(std::make_unique<CopyToDeviceStream>(state));
      return absl::OkStatus();
    });
    return Join({called, filled});
  }

  void Abort(const absl::Status& why) override { open_->Abort(why); }

 private:
  Future Call(std::function<absl::Status()> call) {
    auto promise = std::make_shared<Promise>();
    Future done = promise->future();
    WaitingThreads::Get().Submit([self = shared_from_this(), promise, call = std::move(call)] {
      absl::Status status;
      {
        const WaitingWork work;
        status = call();
      }
      const WaitHere offer;  // to the rest of the program
      promise->Set(std::move(status));
    });
    return done;
  }

  const HostCallbacks callbacks_;
  const std::shared_ptr<OpenReceives> open_;
};

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<HostTransfers>>> StartHostTransfers(
    absl::string_view program, absl::Span<const HostChannel> channels,
    absl::Span<const HostCallbacks> devices, size_t device_count) {
  std::vector<std::shared_ptr<HostTransfers>> transfers;
  auto open = std::make_shared<OpenReceives>();
  for (size_t d = 0; d < device_count; ++d) {
    for (const HostChannel& channel : channels) {
      const bool found = d < devices.size() && (channel.sends ? Find(devices[d].send, channel.id) != nullptr
                                                              : Find(devices[d].recv, channel.id) != nullptr);
      if (found) continue;
      return absl::InvalidArgumentError(absl::StrCat("executing ", program, ": ", Name(channel), ", has no ",
                                                     channel.sends ? "send" : "recv", " callback for device ",
                                                     d, " of ", device_count,
                                                     " of this process; give one in the execute options"));
    }
    transfers.push_back(std::make_shared<DeviceTransfers>(devices[d], open));
  }
  return transfers;
}

}  // namespace shoal
