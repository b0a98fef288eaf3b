#include "core/tasks/arena.h"

#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/base/flags.h"
#include "core/base/float_mode.h"
#include "core/tasks/cgroup.h"
#include "core/tasks/thread_stack.h"

namespace shoal {
namespace {

// Pieces a worker gets of a loop: enough to even out unequal ones, few enough that their cost does not show.
constexpr int64_t kPiecesPerWorker = 4;

int64_t ThreadsFlag() {
  const absl::StatusOr<int64_t> threads = IntFlag("SHOAL_THREADS");
  return threads.ok() ? std::max<int64_t>(0, *threads) : 0;  // CheckFlags reports a bad value
}

int AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int WorkerCount() {
  const int64_t threads = ThreadsFlag();
  return threads > 0 ? static_cast<int>(std::min<int64_t>(threads, 4096)) : AvailableCores();
}

// oneTBB orders a task after its submission and a loop's end after its pieces, but thread sanitizer does not
// see into Debian's library; this atomic tells it so.
class Handoff {
 public:
  void Release() { token_.fetch_add(1, std::memory_order_release); }
  void Acquire() { token_.load(std::memory_order_acquire); }

 private:
  std::atomic<int> token_{0};
};

}  // namespace

struct Arena::Impl {
  Impl()
      : workers(WorkerCount()),
        limit(tbb::global_control::max_allowed_parallelism, workers + 1),
        stack(tbb::global_control::thread_stack_size, kThreadStackBytes),
        arena(workers, /*reserved_for_masters=*/0) {
    // Workers compute in the mode of the thread that makes the arena.
    const StandardFloatMode mode;
    arena.initialize();
  }
  const int workers;
  // oneTBB counts the main thread as one of its own and would start a worker less; ours never computes.
  tbb::global_control limit;
  tbb::global_control stack;
  tbb::task_arena arena;
};

Arena::Arena() : impl_(new Impl) {}

Arena& Arena::Get() {
  static Arena* const arena = new Arena;
  return *arena;
}

int Arena::size() const { return impl_->workers; }

void Arena::Submit(std::function<void()> task) {
  struct Submitted {
    std::function<void()> task;
    Handoff handoff;
  };
  auto* submitted = new Submitted{std::move(task), {}};
  submitted->handoff.Release();
  impl_->arena.enqueue([submitted] {
    submitted->handoff.Acquire();
    submitted->task();
    delete submitted;
  });
}

void Arena::ParallelFor(int64_t count, int64_t grain,
                        absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (count <= 0) return;
  const int64_t most = count / std::max<int64_t>(1, grain);
  const int64_t pieces = std::min(most, impl_->workers * kPiecesPerWorker);
  if (pieces <= 1 || impl_->workers == 1) return body(0, count);
  // begin = piece * count / pieces without overflow: the first `longer` pieces have one more.
  const int64_t size = count / pieces, longer = count % pieces;
  Handoff start, end;
  start.Release();
  const auto run_piece = [&](int64_t piece) {
    start.Acquire();
    const int64_t begin = piece * size + std::min(piece, longer);
    body(begin, begin + size + (piece < longer ? 1 : 0));
    end.Release();
  };
  // Isolated: while this thread waits for the last piece it must not pick up a piece of another loop, which
  // could be long, or use the same thread-local scratch.
  impl_->arena.execute([&] {
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(int64_t{0}, pieces, run_piece, tbb::simple_partitioner()); });
  });
  end.Acquire();
}

int AvailableCores() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  groups << file.rdbuf();
  int cores = AffinityCores();
  if (const auto quota = CgroupCores(groups.str(), "/sys/fs/cgroup")) cores = std::min(cores, *quota);
  if (const int64_t threads = ThreadsFlag(); threads > 0) cores = std::min<int64_t>(cores, threads);
  return cores;
}

}  // namespace shoal
