#include "core/runtime/plan.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/timeline.h"
#include "core/tasks/arena.h"
#include "core/tasks/waiting_threads.h"

namespace shoal {
namespace {

// A step that costs less than this is not worth handing to another worker.
constexpr double kWorthATaskNs = 2000;
// The same where the thread may wait for callbacks: who else takes a step may end last, and the program then
// goes on without that thread, which costs two changes of threads at the next callback.
constexpr double kWorthLeavingNs = 50000;
// So many of those that become ready on a borrowed thread (one that tells of a collective's end) run there,
// and this deep at most where one ends another's collective; then a worker goes on.
constexpr int kMostBorrowedSteps = 16, kMostBorrowedDepth = 4;
thread_local int borrowed_depth = 0;

// Uses of one step, by base and offset, overlapping ones of the same kind merged.
std::vector<SliceUse> Merged(absl::Span<const SliceUse> uses) {
  std::vector<SliceUse> sorted(uses.begin(), uses.end());
  std::sort(sorted.begin(), sorted.end(), [](const SliceUse& a, const SliceUse& b) {
    if (a.writes != b.writes) return a.writes < b.writes;
    return a.slice.base != b.slice.base ? a.slice.base < b.slice.base : a.slice.offset < b.slice.offset;
  });
  std::vector<SliceUse> merged;
  for (const SliceUse& use : sorted) {
    if (use.slice.bytes == 0) continue;
    if (!merged.empty()) {
      SliceUse& back = merged.back();
      const int64_t end = back.slice.offset + back.slice.bytes;
      if (back.writes == use.writes && back.slice.base == use.slice.base && use.slice.offset <= end) {
        back.slice.bytes = std::max(end, use.slice.offset + use.slice.bytes) - back.slice.offset;
        continue;
      }
    }
    merged.push_back(use);
  }
  return merged;
}

// Who touched memory last, byte by byte: what a step has to wait for is read off it, in time that does not
// grow with the number of steps before.
class Accesses {
 public:
  // Adds the steps that `step` must come after; then counts its uses.
  void Add(int step, absl::Span<const SliceUse> uses, std::vector<int>& before) {
    for (const SliceUse& use : uses) {
      Extents& extents = extents_[use.slice.base];
      const int64_t begin = use.slice.offset, end = begin + use.slice.bytes;
      Cut(extents, begin);
      Cut(extents, end);
      for (auto it = extents.lower_bound(begin); it != extents.end() && it->first < end; ++it) {
        Access& access = it->second;
        if (use.writes) before.insert(before.end(), access.readers.begin(), access.readers.end());
        if (access.writer >= 0) before.push_back(access.writer);
        if (!use.writes) access.readers.push_back(step);
      }
      if (!use.writes) continue;
      extents.erase(extents.lower_bound(begin), extents.lower_bound(end));
      extents[begin].writer = step;
    }
    before.erase(std::remove(before.begin(), before.end(), step), before.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }

 private:
  struct Access {
    int writer = -1;
    std::vector<int> readers;  // since then
  };
  using Extents = std::map<int64_t, Access>;  // by where one starts; it ends where the next one starts

  static void Cut(Extents& extents, int64_t at) {
    auto next = extents.lower_bound(at);
    if (next != extents.end() && next->first == at) return;
    extents.emplace_hint(next, at, next == extents.begin() ? Access{} : std::prev(next)->second);
  }

  absl::flat_hash_map<int32_t, Extents> extents_;
};

// Starts a step, by a caller that is `idle` till it ends or is not; keeps a place for it in the timeline if
// there is one.
Future Begin(const Step& step, RunState& run, bool idle) {
  const auto start = [&] { return idle ? step.StartIdle(run) : step.Start(run); };
  Timeline* const timeline = Timeline::Get();
  if (timeline == nullptr) return start();
  TimelineEntry entry = {step.row(), run.context().device.value(), Timeline::Now()};
  entry.run = run.context().run.value();
  entry.bytes = 0;
  for (const SliceUse& use : step.uses()) entry.bytes += use.slice.bytes;
  Future future = start();
  future.Then([timeline, entry, &step](const absl::Status&) mutable {
    entry.end_ns = Timeline::Now();
    timeline->Add(entry, step.name());
  });
  return future;
}

}  // namespace

// One run of a plan with several steps.
class PlanRun : public std::enable_shared_from_this<PlanRun> {
 public:
  PlanRun(const Plan& plan, RunState& run)
      : plan_(plan),
        run_(run),
        waiting_(new std::atomic<int>[plan.steps_.size()]),
        remaining_(static_cast<int>(plan.steps_.size())) {
    for (size_t i = 0; i < plan.steps_.size(); ++i) {
      waiting_[i].store(plan.waits_for_[i], std::memory_order_relaxed);
    }
  }

  Future future() const { return promise_.future(); }

  // Whose thread works: the arena's or the caller's, one that is borrowed for a few short steps, or one that
  // may wait for callbacks.
  enum class On { kWorker, kBorrowed, kMayWait };

  // Starts `ready` steps and what they make ready, keeping one strand of work for this thread.
  void Drain(std::vector<int> ready, On thread = On::kWorker) {
    const bool borrowed = thread == On::kBorrowed, may_wait = thread == On::kMayWait;
    for (int taken = 0; !ready.empty(); ++taken) {
      const int i = TakeNext(ready, may_wait);
      const Step& step = *plan_.steps_[i];
      if (borrowed && (step.cost_ns() > kWorthATaskNs || taken == kMostBorrowedSteps)) {
        ready.push_back(i);
        Arena::Get().Submit([self = shared_from_this(), ready = std::move(ready)] { self->Drain(ready); });
        return;
      }
      if (!step.IsAsync() && step.cost_ns() > (may_wait ? kWorthLeavingNs : kWorthATaskNs)) HandOut(ready);
      if (run_.failed()) {
        Finish(i, ready, may_wait);
        continue;
      }
      const Future future = StartOne(step, ready.empty() && !borrowed, may_wait);
      if (future.IsReady()) {
        if (!future.status().ok()) run_.Fail(future.status());
        Finish(i, ready, may_wait);
        continue;
      }
      future.Then([self = shared_from_this(), i](const absl::Status& status) {
        if (!status.ok()) self->run_.Fail(status);
        const bool may_wait = WaitHere::Take();
        std::vector<int> next;
        self->Finish(i, next, may_wait);
        if (!next.empty()) self->Continue(std::move(next), may_wait);
      });
    }
  }

 private:
  Future StartOne(const Step& step, bool idle, bool may_wait) const {
    const WaitHere offer(may_wait && step.CallsOut());
    return Begin(step, run_, idle);
  }

  // On a thread that is not ours, unless it may wait: it may be the network's, or another device's.
  void Continue(std::vector<int> ready, bool may_wait) {
    if (may_wait) return Drain(std::move(ready), On::kMayWait);
    if (borrowed_depth == kMostBorrowedDepth) {
      Arena::Get().Submit([self = shared_from_this(), ready = std::move(ready)] { self->Drain(ready); });
      return;
    }
    ++borrowed_depth;
    Drain(std::move(ready), On::kBorrowed);
    --borrowed_depth;
  }

  // An asynchronous step if there is one; where callbacks are called here, what is short before those; else
  // the first.
  int TakeNext(std::vector<int>& ready, bool may_wait) const {
    const auto rank = [&](int i) {
      const Step& step = *plan_.steps_[i];
      const bool last = may_wait && (step.CallsOut() || step.cost_ns() > kWorthLeavingNs);
      return std::pair(step.IsAsync() ? 0 : last ? 2 : 1, i);
    };
    size_t best = 0;
    for (size_t k = 1; k < ready.size(); ++k) {
      if (rank(ready[k]) < rank(ready[best])) best = k;
    }
    const int taken = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    return taken;
  }

  void HandOut(std::vector<int>& ready) {
    for (int i : ready) {
      Arena::Get().Submit([self = shared_from_this(), i] { self->Drain({i}); });
    }
    ready.clear();
  }

  void Finish(int i, std::vector<int>& ready, bool may_wait) {
    for (int next : plan_.successors_[i]) {
      if (waiting_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push_back(next);
    }
    if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const WaitHere offer(may_wait);
      promise_.Set(run_.failed() ? run_.status() : absl::OkStatus());
    }
  }

  const Plan& plan_;
  RunState& run_;
  std::unique_ptr<std::atomic<int>[]> waiting_;
  std::atomic<int> remaining_;
  Promise promise_;
};

Plan::Plan(std::vector<std::unique_ptr<Step>> steps) : steps_(std::move(steps)) {
  const int count = static_cast<int>(steps_.size());
  successors_.resize(count);
  waits_for_.assign(count, 0);
  Accesses accesses;
  for (int i = 0; i < count; ++i) {
    std::vector<int> before;
    accesses.Add(i, Merged(steps_[i]->uses()), before);
    for (int k : before) successors_[k].push_back(i);
    waits_for_[i] = static_cast<int>(before.size());
    if (before.empty()) roots_.push_back(i);
  }
}

Future Plan::Start(RunState& run) const {
  if (steps_.empty()) return Future();
  const bool may_wait = WaitHere::Take();
  if (steps_.size() == 1) {
    if (run.failed()) return Future(run.status());
    const WaitHere offer(may_wait && steps_[0]->CallsOut());
    return Begin(*steps_[0], run, /*idle=*/true);
  }
  auto plan_run = std::make_shared<PlanRun>(*this, run);
  Future future = plan_run->future();
  plan_run->Drain(roots_, may_wait ? PlanRun::On::kMayWait : PlanRun::On::kWorker);
  return future;
}

bool Plan::IsWrittenAfter(int i) const {
  return std::any_of(successors_[i].begin(), successors_[i].end(), [&](int later) {
    for (const SliceUse& use : steps_[later]->uses()) {
      for (const SliceUse& ours : steps_[i]->uses()) {
        if (use.writes && use.slice.Overlaps(ours.slice)) return true;
      }
    }
    return false;
  });
}

double Plan::cost_ns() const {
  double sum = 0;
  for (const auto& step : steps_) sum += step->cost_ns();
  return sum;
}

bool Plan::CallsOut() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->CallsOut(); });
}

std::vector<SliceUse> Plan::Uses() const {
  std::vector<SliceUse> uses;
  for (const auto& step : steps_) uses.insert(uses.end(), step->uses().begin(), step->uses().end());
  return Merged(uses);
}

}  // namespace shoal
