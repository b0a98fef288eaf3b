// Processes on several hosts: each speaks to process 0's server alone. The watch of one host is in
// job_test.cc.
#include "launcher/health/health_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/store/socket.h"
#include "launcher/store/tcp_server.h"
#include "tests/launcher/forked.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr absl::Duration kInterval = absl::Milliseconds(100);

Topology ThreeHosts(int self) {
  Topology topology;
  topology.self = ProcessId(self);
  for (int p = 0; p < 3; ++p) {
    topology.processes.push_back({HostId(p), absl::StrCat("n", p), 100 + p, 1, DeviceId(p)});
  }
  return topology;
}

// What a watch has told so far.
class Told {
 public:
  void operator()(ProcessId process, const absl::Status& why) {
    const std::lock_guard lock(mutex_);
    absl::StrAppend(&text_, process.value(), ": ", why.ToString(), "\n");
    changed_.notify_all();
  }
  std::string WaitFor(absl::string_view text, absl::Duration timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, absl::ToChronoMicroseconds(timeout),
                      [&] { return text_.find(std::string(text)) != std::string::npos; });
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

std::unique_ptr<TcpStore> ConnectTo(int port) {
  return *TcpStore::Connect({absl::StrCat("127.0.0.1:", port)}, "job", absl::Seconds(10));
}

// A process of the job that attends, and stays until key "end/N" is set or it is killed.
Forked Member(int self, int port) {
  return Forked([=]() -> std::string {
    const auto store = ConnectTo(port);
    auto attendance = *AttendServer(store.get(), ProcessId(self));
    Told told;
    HealthWatch watch(ThreeHosts(self), attendance.get(), kInterval, std::ref(told));
    (void)store->Set(absl::StrCat("there/", self), "");
    (void)store->Get(absl::StrCat("end/", self), absl::Seconds(20));
    return told.WaitFor("process 0", absl::Seconds(5));
  });
}

int FreePort() { return *(*Socket::Listen(0)).Port(); }

TEST(HealthWatchTest, DeathIsToldAndLeavingIsNot) {
  const int port = FreePort();
  Forked dies = Member(1, port);
  Forked leaves = Member(2, port);
  const auto server = *TcpServer::Start("job", port);
  const auto store = ConnectTo(port);
  auto attendance = *AttendServer(store.get(), ProcessId(0));
  Told told;
  {
    HealthWatch watch(ThreeHosts(0), attendance.get(), kInterval, std::ref(told));
    ASSERT_TRUE(store->Get("there/1", absl::Seconds(20)).ok());
    ASSERT_TRUE(store->Get("there/2", absl::Seconds(20)).ok());
    ASSERT_TRUE(store->Set("end/2", "").ok());
    ASSERT_TRUE(store->Get("gone/2", absl::Seconds(20)).ok());
    dies.Kill(SIGKILL);
    EXPECT_THAT(
        told.WaitFor("process 1", absl::Seconds(2)),
        AllOf(HasSubstr("1: UNAVAILABLE: process 1 (n1, pid 101) died"), HasSubstr("cannot be reached")));
    absl::SleepFor(kInterval * 3);
  }
  EXPECT_EQ(*store->Get("gone/2", absl::Seconds(1)), "left");
  EXPECT_EQ(told.WaitFor("process 2", absl::ZeroDuration()).find("process 2"), std::string::npos);
  attendance.reset();
}

TEST(HealthWatchTest, DeathOfProcessZeroIsToldToAll) {
  const int port = FreePort();
  Forked one = Member(1, port);
  Forked zero([=]() -> std::string {
    const auto server = *TcpServer::Start("job", port);
    ConnectTo(port)->Get("there/1", absl::Seconds(20)).IgnoreError();
    raise(SIGKILL);
    return "";
  });
  EXPECT_THAT(one.Result(), HasSubstr("0: UNAVAILABLE: process 0 (n0, pid 100) died"));
}

TEST(HealthWatchTest, ProcessZeroThatLeavesIsNotDead) {
  const int port = FreePort();
  Forked one([=]() -> std::string {
    const auto store = ConnectTo(port);
    auto attendance = *AttendServer(store.get(), ProcessId(1));
    Told told;
    HealthWatch watch(ThreeHosts(1), attendance.get(), kInterval, std::ref(told));
    (void)store->Set("there/1", "");
    // Longer than the server lingers.
    return absl::StrCat("told:", told.WaitFor("process 0", absl::Seconds(2)));
  });
  {
    const auto server = *TcpServer::Start("job", port, absl::Seconds(1));
    const auto store = ConnectTo(port);
    auto attendance = *AttendServer(store.get(), ProcessId(0));
    ASSERT_TRUE(store->Get("there/1", absl::Seconds(20)).ok());
    attendance.reset();
  }
  EXPECT_EQ(one.Result(), "told:");
}

}  // namespace
}  // namespace shoal
