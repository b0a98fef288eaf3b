// Step: the smallest unit that a plan runs. It declares the memory that it reads and writes; the plan derives
// from that which steps may run at once (plan.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/memory/slice.h"
#include "core/runtime/communicator.h"
#include "core/runtime/program.h"
#include "core/tasks/future.h"

namespace shoal {

class Plan;
enum class TimelineRow : uint8_t;

// One execution of a program: what all its plans share. Lives until the run's future is set. Thread-safe.
class RunState : public CollectiveOrder {
 public:
  // `bases` as core/memory/slice.h lays them out; the collectives of `plan`, the program's, are numbered from
  // 0.
  RunState(const RunContext& context, char* const* bases, const Plan& plan, int64_t collective_count)
      : context_(context), bases_(bases), plan_(plan), instances_(collective_count) {}

  const RunContext& context() const { return context_; }
  char* const* bases() const { return bases_; }
  char* At(const Slice& slice) const { return bases_[slice.base] + slice.offset; }

  // Keeps the run's memory after its end; null where that ends with the run's future.
  std::shared_ptr<const void> keeper() const { return keeper_.lock(); }
  void SetKeeper(std::weak_ptr<const void> keeper) { keeper_ = std::move(keeper); }

  // How often collective `number` was started before in this run; counts up.
  int64_t NextInstance(int64_t number) { return instances_[number]++; }
  bool Precludes(int64_t at, int64_t number, int64_t instance, int64_t group) const override;

  // Keeps the first error and tells the communicator and the host, so that nobody waits for this partition.
  void Fail(const absl::Status& status);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  absl::Status status() const;

 private:
  const RunContext& context_;
  char* const* bases_;
  std::weak_ptr<const void> keeper_;
  const Plan& plan_;
  // By number; one op's is touched by its own step alone, whose starts are ordered, and read while that
  // cannot start.
  absl::InlinedVector<int64_t, 2> instances_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  absl::Status status_;  // guarded by mutex_
};

struct SliceUse {
  Slice slice;
  bool writes = false;
};

class Step {
 public:
  Step(std::string name, std::vector<SliceUse> uses) : name_(std::move(name)), uses_(std::move(uses)) {}
  virtual ~Step() = default;

  const std::string& name() const { return name_; }
  absl::Span<const SliceUse> uses() const { return uses_; }

  // Does the work and returns a ready future, or starts it and returns one that is set later. Must not wait
  // for anything but pieces of its own work in the arena. All that it uses is valid until the future is set.
  virtual Future Start(RunState& run) const = 0;
  // The same by a caller that has nothing else to do till then: may stay with the work for a while.
  virtual Future StartIdle(RunState& run) const { return Start(run); }
  // True if Start only hands work over: such steps go first.
  virtual bool IsAsync() const { return false; }
  // True if Start may end before the work has, as IsAsync's does, but by chance.
  virtual bool MayEndLater() const { return IsAsync(); }
  // Called before the first run of an asynchronous step after which nothing in its program writes the memory
  // that it uses: then others may read that on when its future is set, for as long as they keep
  // RunState::keeper(). Whether they will.
  virtual bool LetReadOn() { return false; }
  // What it does, if that is a collective.
  virtual const CollectiveOp* collective() const { return nullptr; }
  // The plans that it runs, one at a time, each as often as it wants.
  virtual std::vector<const Plan*> parts() const { return {}; }
  // Where it is shown.
  virtual TimelineRow row() const;
  // True if it calls, itself or in a plan inside, what may wait: then it is offered to wait where it is
  // started (WaitHere), if that may be.
  virtual bool CallsOut() const { return false; }
  // Estimated nanoseconds of the caller's time; a step whose work is not known says a lot.
  virtual double cost_ns() const = 0;

 private:
  const std::string name_;
  const std::vector<SliceUse> uses_;
};

}  // namespace shoal
