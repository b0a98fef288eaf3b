#include "collectives/engine/assist.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/tasks/arena.h"

namespace shoal {
namespace {

// Shared with helpers, who may come when the caller has long gone: then `next` tells them that nothing is
// left, and they touch nothing else.
struct Loop {
  Loop(int64_t loop_count, absl::FunctionRef<void(int64_t)> loop_body) : count(loop_count), body(loop_body) {}
  void Work() {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      body(i);
      done.fetch_add(1, std::memory_order_release);
    }
  }
  const int64_t count;
  const absl::FunctionRef<void(int64_t)> body;  // valid while done < count
  std::atomic<int64_t> next{0}, done{0};
};

}  // namespace

void RunAssisted(int64_t count, int helpers, absl::FunctionRef<void(int64_t)> body) {
  helpers = static_cast<int>(std::min<int64_t>(helpers, count - 1));
  if (helpers <= 0) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  auto loop = std::make_shared<Loop>(count, body);
  for (int h = 0; h < helpers; ++h) Arena::Get().Submit([loop] { loop->Work(); });
  loop->Work();
  while (loop->done.load(std::memory_order_acquire) < count) sched_yield();
}

}  // namespace shoal
