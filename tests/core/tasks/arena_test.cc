#include "core/tasks/arena.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "core/tasks/cgroup.h"
#include "core/tasks/future.h"
#include "core/tasks/thread_stack.h"
#include "core/tasks/waiting_threads.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace shoal {
namespace {

size_t StackBytes() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  size_t bytes = 0;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

// LAPACK and users' kernels run on both kinds of thread, and take stack by the megabyte.
TEST(ArenaTest, ThreadsHaveLargeStacks) {
  for (const bool waiting : {false, true}) {
    Promise promise;
    size_t bytes = 0;
    Future done = promise.future();
    const auto task = [&] {
      bytes = StackBytes();
      promise.Set(absl::OkStatus());
    };
    waiting ? WaitingThreads::Get().Submit(task) : Arena::Get().Submit(task);
    ASSERT_TRUE(done.AwaitFor(absl::Seconds(20)));
    EXPECT_GE(bytes, kThreadStackBytes) << (waiting ? "a waiting thread" : "a worker");
  }
}

TEST(ArenaTest, SubmitRunsElsewhere) {
  const std::thread::id here = std::this_thread::get_id();
  for (int round = 0; round < 50; ++round) {
    Promise promise;
    int data = 0;
    std::thread::id there = here;
    Future done = promise.future();
    Arena::Get().Submit([&] {
      data = 5;
      there = std::this_thread::get_id();
      promise.Set(absl::OkStatus());
    });
    ASSERT_TRUE(done.AwaitFor(absl::Seconds(20)));
    EXPECT_EQ(data, 5);
    EXPECT_NE(there, here);
  }
}

// Every worker is really there although the caller's thread never computes: size() tasks meet.
TEST(ArenaTest, AllWorkersRunSubmittedTasks) {
  const int n = Arena::Get().size();
  std::atomic<int> arrived{0}, met{0};
  for (int i = 0; i < n; ++i) {
    Arena::Get().Submit([&] {
      ++arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (arrived < n && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      ++met;
    });
  }
  while (met < n) std::this_thread::yield();
  EXPECT_EQ(arrived, n);
}

TEST(ArenaTest, ParallelForCoversEachIndexOnceInPiecesOfAtLeastGrain) {
  for (int64_t count : {0, 1, 2, 7, 64, 1001}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<int> seen(count, 0);
      Arena::Get().ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
        ASSERT_LE(0, begin);
        ASSERT_LE(end, count);
        EXPECT_GE(end - begin, std::min(grain, count));
        for (int64_t i = begin; i < end; ++i) ++seen[i];
      });
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], 1) << i << " of " << count << " by " << grain;
    }
  }
}

TEST(ArenaTest, ParallelForFromWorkersAndNested) {
  std::atomic<int64_t> sum{0};
  std::vector<Future> done;
  for (int task = 0; task < 8; ++task) {
    auto promise = std::make_shared<Promise>();
    done.push_back(promise->future());
    Arena::Get().Submit([&sum, promise] {
      Arena::Get().ParallelFor(10, 1, [&](int64_t begin, int64_t end) {
        Arena::Get().ParallelFor(end - begin, 1, [&](int64_t b, int64_t e) { sum += e - b; });
      });
      promise->Set(absl::OkStatus());
    });
  }
  ASSERT_TRUE(Join(done).AwaitFor(absl::Seconds(20)));
  EXPECT_EQ(sum, 80);
}

TEST(AvailableCoresTest, FollowsAffinityAndFlag) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  std::thread([&] {  // affinity is a thread's
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(AvailableCores(), 1);
  })
      .join();
  EXPECT_LE(AvailableCores(), CPU_COUNT(&before));
  setenv("SHOAL_THREADS", "1", 1);
  EXPECT_EQ(AvailableCores(), 1);
  unsetenv("SHOAL_THREADS");
}

class CgroupTest : public testing::Test {
 protected:
  CgroupTest() {
    char name[] = "/tmp/shoal_cgroup_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~CgroupTest() override { EXPECT_EQ(system(("rm -r " + root_).c_str()), 0); }
  void Write(const std::string& path, const std::string& text) {
    const std::string folder = root_ + path.substr(0, path.rfind('/'));
    EXPECT_EQ(system(("mkdir -p " + folder).c_str()), 0);
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(CgroupTest, V2TakesTheLeastOnTheWayUp) {
  EXPECT_EQ(CgroupCores("0::/a/b\n", root_), std::nullopt);
  Write("/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCores("0::/a/b\n", root_), std::nullopt);
  Write("/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(CgroupCores("0::/a/b\n", root_), 3);
  Write("/cpu.max", "50000 100000\n");
  EXPECT_EQ(CgroupCores("0::/a/b\n", root_), 1);
  EXPECT_EQ(CgroupCores("0::/\n", root_), 1);
  EXPECT_EQ(CgroupCores("0::/not/here\n", root_), 1);
}

TEST_F(CgroupTest, V1LooksAtTheCpuController) {
  Write("/cpu/job/cpu.cfs_quota_us", "400000\n");
  Write("/cpu/job/cpu.cfs_period_us", "100000\n");
  Write("/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/cpu/cpu.cfs_period_us", "100000\n");
  const std::string groups = "5:cpuset:/x\n4:cpuacct,cpu:/job\n1:name=systemd:/y\n";
  EXPECT_EQ(CgroupCores(groups, root_), 4);
  EXPECT_EQ(CgroupCores("garbage\n5:cpuset:/job\n", root_), std::nullopt);
}

#if defined(__x86_64__)
// The thread that makes the arena may flush subnormals to zero, as jaxlib's compiling threads do. (ctest
// gives each test a process of its own, so the arena is made here.)
TEST(ArenaTest, WorkersKeepSubnormalsWhoeverMakesTheArena) {
  std::atomic<int> flushed{0};
  std::thread([&] {
    _mm_setcsr(_mm_getcsr() | 0x8040);
    volatile float tiny = 1e-40f;
    Arena::Get().ParallelFor(64, 1, [&](int64_t, int64_t) { flushed += tiny * 1.5f == 0; });
    Promise promise;
    Arena::Get().Submit([&] {
      flushed += tiny * 1.5f == 0;
      promise.Set(absl::OkStatus());
    });
    EXPECT_TRUE(promise.future().AwaitFor(absl::Seconds(20)));
  }).join();
  EXPECT_EQ(flushed, 0);
}
#endif

}  // namespace
}  // namespace shoal
