#include "launcher/rendezvous/introduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "launcher/store/memory_store.h"

namespace shoal {
namespace {

using testing::HasSubstr;

Introduction On(const std::string& host, int devices, int count = 3) {
  return {
      .host_identity = host, .host_name = host, .pid = 100, .num_devices = devices, .process_count = count};
}

// What each of `everyone` gets when they meet in one store; null: that process does not come.
std::vector<absl::StatusOr<Topology>> Meet(const std::vector<const Introduction*>& everyone,
                                           absl::Duration timeout) {
  MemoryStore store;
  std::vector<absl::StatusOr<Topology>> results(everyone.size(), absl::CancelledError("did not come"));
  std::vector<std::thread> threads;
  for (size_t p = 0; p < everyone.size(); ++p) {
    if (everyone[p] == nullptr) continue;
    threads.emplace_back(
        [&, p] { results[p] = Introduce(store, ProcessId(static_cast<int>(p)), *everyone[p], timeout); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(IntroductionTest, DeviceIdsAreDenseAndHostsInOrder) {
  const auto topology = Arrange({On("b", 3), On("a", 1), On("b", 2)}, "job");
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->device_count(), 6);
  EXPECT_EQ(topology->process(ProcessId(1)).first_device, DeviceId(3));
  EXPECT_EQ(topology->process(ProcessId(2)).first_device, DeviceId(4));
  EXPECT_TRUE(topology->SameHost(ProcessId(0), ProcessId(2)));
  EXPECT_FALSE(topology->SameHost(ProcessId(0), ProcessId(1)));
  EXPECT_EQ(topology->process(ProcessId(1)).host, HostId(1));
  EXPECT_EQ(topology->ProcessOf(DeviceId(3)), ProcessId(1));
}

TEST(IntroductionTest, EveryoneGetsTheSameTopologyButForSelf) {
  const Introduction a = On("x", 2), b = On("y", 1), c = On("x", 5);
  const auto results = Meet({&a, &b, &c}, absl::Seconds(20));
  for (int p = 0; p < 3; ++p) {
    ASSERT_TRUE(results[p].ok()) << results[p].status();
    EXPECT_EQ(results[p]->self, ProcessId(p));
    EXPECT_EQ(results[p]->job, results[0]->job);
    EXPECT_EQ(results[p]->device_count(), 8);
    EXPECT_EQ(results[p]->process(ProcessId(1)).host_name, "y");
  }
}

TEST(IntroductionTest, MissingProcessesAreNamedToAll) {
  const Introduction it = On("x", 1, 5);
  const auto results = Meet({&it, nullptr, &it, nullptr, &it}, absl::Milliseconds(100));
  for (const int p : {0, 2, 4}) {
    EXPECT_EQ(results[p].status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(results[p].status().message(), HasSubstr("processes 1, 3 of 5 did not join"));
  }
}

TEST(IntroductionTest, OfManyMissingProcessesTheFirstAreNamed) {
  MemoryStore store;
  const auto result = Introduce(store, ProcessId(0), On("x", 1, 5000), absl::Milliseconds(10));
  EXPECT_THAT(result.status().message(), HasSubstr("14, 15, 16 and 4983 others of 5000 did not join"));
}

TEST(IntroductionTest, MissingProcessZeroIsNamed) {
  MemoryStore store;
  // The wait for process 0's own word comes on top of the timeout.
  const auto result = Introduce(store, ProcessId(1), On("x", 1, 2), absl::Milliseconds(10));
  EXPECT_THAT(result.status().message(), HasSubstr("process 0 of 2 did not join"));
}

TEST(IntroductionTest, DifferentCountsAreNamedAtOnce) {
  const Introduction two = On("x", 1, 2), three = On("x", 1, 3);
  for (const bool zero_says_three : {false, true}) {
    const auto results =
        zero_says_three ? Meet({&three, &two}, absl::Seconds(60)) : Meet({&two, &three}, absl::Seconds(60));
    for (const auto& result : results) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
      EXPECT_THAT(result.status().message(), HasSubstr("says that the job has"));
    }
  }
}

TEST(IntroductionTest, SameNumberTwiceIsNamed) {
  MemoryStore store;
  std::thread first([&] { (void)Introduce(store, ProcessId(0), On("x", 1, 2), absl::Milliseconds(300)); });
  while (!store.TryGet("process/0").ok()) std::this_thread::yield();
  const auto second = Introduce(store, ProcessId(0), On("x", 1, 2), absl::Seconds(5));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("process 0 of the job has joined already"));
  first.join();
}

TEST(IntroductionTest, ProcessWithoutDevicesIsNamed) {
  EXPECT_THAT(Arrange({On("x", 1, 2), On("x", 0, 2)}, "job").status().message(),
              HasSubstr("process 1 has 0 devices"));
}

}  // namespace
}  // namespace shoal
