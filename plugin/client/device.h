// PjRtDevice, PjRtMemorySpace and what describes them: the fixed furniture of a client.
//
// All are made with the client, owned by it and immutable, but for what has its own lock. A device of another
// process has a description and nothing else: no memory spaces, no allocator.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/ids.h"
#include "core/memory/allocator.h"
#include "core/tasks/future.h"

namespace shoal {

class PjRtClient;
class PjRtDevice;

// The kinds of memory that JAX's CPU devices have, the default first. On CPUs all are the same memory.
inline constexpr absl::string_view kMemoryKinds[] = {"device", "pinned_host", "unpinned_host"};
inline constexpr int kNumMemoryKinds = 3;

struct PjRtDeviceDescription {
  DeviceId id;
  ProcessId process;
  std::string device_kind = "cpu";
  std::string debug_string;  // cpu:0
  std::string to_string;     // CpuDevice(id=0)

  static PjRtDeviceDescription Of(DeviceId id, ProcessId process);
};

class PjRtMemorySpace {
 public:
  PjRtMemorySpace(int id, int kind_id, PjRtDevice* device);
  int id() const { return id_; }  // unique among the memory spaces of all processes
  int kind_id() const { return kind_id_; }
  absl::string_view kind() const { return kMemoryKinds[kind_id_]; }
  PjRtDevice* device() const { return device_; }
  const std::string& debug_string() const { return debug_string_; }
  const std::string& to_string() const { return to_string_; }

 private:
  int id_;
  int kind_id_;
  PjRtDevice* device_;
  std::string debug_string_;
  std::string to_string_;
};

// Counts the runs that one device has not finished. A caller that is too far ahead waits, because each run
// that was asked for holds its outputs already.
class RunsInFlight {
 public:
  static constexpr int kMost = 32;
  void Start() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
  }
  void End() {
    std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  int count() {
    std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  // Waits until at most `count` are left. Only for callers' own threads.
  void AwaitAtMost(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ <= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// One of them, from its making to its end.
class RunInFlight {
 public:
  explicit RunInFlight(RunsInFlight* runs) : runs_(runs) { runs_->Start(); }
  RunInFlight(RunInFlight&& other) : runs_(std::exchange(other.runs_, nullptr)) {}
  ~RunInFlight() {
    if (runs_ != nullptr) runs_->End();
  }

 private:
  RunsInFlight* runs_;
};

// The order of one device's runs with effects: each begins when the one before it has ended.
class EffectOrder {
 public:
  // Puts a run, which ends with `end`, behind all others, and returns the end of the one before it.
  Future Enqueue(Future end) {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(last_, std::move(end));
  }

 private:
  std::mutex mutex_;
  Future last_;  // guarded by mutex_
};

class PjRtDevice {
 public:
  // `local_ordinal` is -1 for a device of another process.
  PjRtDevice(PjRtClient* client, PjRtDeviceDescription description, int local_ordinal, int64_t memory_limit);

  PjRtClient* client() const { return client_; }
  DeviceId id() const { return description_.id; }
  const PjRtDeviceDescription& description() const { return description_; }
  bool IsAddressable() const { return local_ordinal_ >= 0; }
  int local_hardware_id() const { return local_ordinal_; }
  absl::Span<PjRtMemorySpace* const> memory_spaces() const { return spaces_; }
  // The following REQUIRE IsAddressable().
  PjRtMemorySpace* default_memory_space() const { return spaces_[0]; }
  const std::shared_ptr<Allocator>& allocator() const { return allocator_; }
  RunsInFlight& runs() { return runs_; }
  EffectOrder& effects() { return effects_; }

 private:
  PjRtClient* client_;
  PjRtDeviceDescription description_;
  int local_ordinal_;
  std::shared_ptr<Allocator> allocator_;
  std::vector<std::unique_ptr<PjRtMemorySpace>> owned_spaces_;
  std::vector<PjRtMemorySpace*> spaces_;
  RunsInFlight runs_;
  EffectOrder effects_;
};

}  // namespace shoal
