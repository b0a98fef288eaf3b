// Real processes, since record locks are theirs.
#include "launcher/store/host_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/launcher/forked.h"

namespace shoal {
namespace {

using testing::HasSubstr;

std::string JobOf(absl::string_view test) { return absl::StrCat("test-", getpid(), "-", test); }

// Enters as `self`, then stays until it is killed, or leaves when the file appears.
Forked Member(const std::string& job, int self, const std::string& leave_when = "") {
  return Forked([=]() -> std::string {
    auto directory = HostDirectory::Enter(job, ProcessId(self), absl::Seconds(5));
    if (!directory.ok()) return std::string(directory.status().message());
    while (leave_when.empty() || access(leave_when.c_str(), F_OK) != 0) absl::SleepFor(absl::Milliseconds(5));
    directory->reset();
    return "left";
  });
}

void WaitFor(const HostDirectory& directory, int process, Presence wanted) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (directory.Look(ProcessId(process)) != wanted && absl::Now() < deadline)
    absl::SleepFor(absl::Milliseconds(2));
  EXPECT_EQ(directory.Look(ProcessId(process)), wanted) << process;
}

TEST(HostDirectoryTest, TellsDeathFromLeaving) {
  const std::string job = JobOf("presence");
  const std::string signal = absl::StrCat("/tmp/", job);
  Forked dies = Member(job, 1);
  Forked leaves = Member(job, 2, signal);
  auto directory = *HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
  WaitFor(*directory, 1, Presence::kPresent);
  WaitFor(*directory, 2, Presence::kPresent);
  EXPECT_EQ(directory->Look(ProcessId(3)), Presence::kNotYet);
  EXPECT_EQ(directory->Look(ProcessId(0)), Presence::kPresent);

  const absl::Time killed = absl::Now();
  dies.Kill(SIGKILL);
  WaitFor(*directory, 1, Presence::kDied);
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
  std::ofstream(signal).close();
  WaitFor(*directory, 2, Presence::kLeft);
  EXPECT_EQ(leaves.Result(), "left");
  std::filesystem::remove(signal);
}

TEST(HostDirectoryTest, StoppedProcessIsPresent) {
  const std::string job = JobOf("stopped");
  Forked member = Member(job, 1);
  auto directory = *HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
  WaitFor(*directory, 1, Presence::kPresent);
  member.Kill(SIGSTOP);
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(directory->Look(ProcessId(1)), Presence::kPresent);
}

TEST(HostDirectoryTest, ChildOfADeadProcessDoesNotKeepItAlive) {
  const std::string job = JobOf("child");
  Forked member([=]() -> std::string {
    auto directory = HostDirectory::Enter(job, ProcessId(1), absl::Seconds(5));
    if (fork() == 0) {
      alarm(20);
      pause();
    }
    pause();
    return "";
  });
  auto directory = *HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
  WaitFor(*directory, 1, Presence::kPresent);
  absl::SleepFor(absl::Milliseconds(50));  // for its fork
  member.Kill(SIGKILL);
  WaitFor(*directory, 1, Presence::kDied);
}

TEST(HostDirectoryTest, ChildThatEndsDoesNotTakeItsParentAlong) {
  const std::string job = JobOf("fork");
  auto directory = *HostDirectory::Enter(job, ProcessId(1), absl::Seconds(5));
  Forked child([&]() -> std::string {
    directory.reset();
    return "ended";
  });
  EXPECT_EQ(child.Result(), "ended");
  Forked other([&]() -> std::string {
    auto seen = HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
    return seen.ok() && (*seen)->Look(ProcessId(1)) == Presence::kPresent ? "present" : "gone";
  });
  EXPECT_EQ(other.Result(), "present");
}

TEST(HostDirectoryTest, LastOneRemovesIt) {
  auto directory = *HostDirectory::Enter(JobOf("last"), ProcessId(4), absl::Seconds(5));
  const std::string path = directory->path();
  EXPECT_TRUE(std::filesystem::exists(path));
  directory.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HostDirectoryTest, RemainsOfADeadJobAreCleared) {
  const std::string job = JobOf("stale");
  {
    Forked dead = Member(job, 1);
    auto directory = *HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
    WaitFor(*directory, 1, Presence::kPresent);
    // This test is process 0, which cannot die; a child of the same number would be the next best.
  }
  Forked first([=]() -> std::string {
    auto directory = HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
    if (!directory.ok()) return std::string(directory.status().message());
    std::ofstream(absl::StrCat((*directory)->path(), "/key.old")).close();
    const std::string path = (*directory)->path();
    directory->release();  // it dies without leaving
    return path;
  });
  const std::string path = first.Result();
  ASSERT_THAT(path, HasSubstr(job));
  ASSERT_TRUE(std::filesystem::exists(path + "/key.old"));
  auto directory = HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_FALSE(std::filesystem::exists(path + "/key.old"));
}

TEST(HostDirectoryTest, SameNumberTwiceIsNamed) {
  const std::string job = JobOf("twice");
  Forked first = Member(job, 1);
  auto other = *HostDirectory::Enter(job, ProcessId(0), absl::Seconds(5));
  WaitFor(*other, 1, Presence::kPresent);
  const auto second = HostDirectory::Enter(job, ProcessId(1), absl::Milliseconds(100));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("process 1 of this job runs already"));
}

}  // namespace
}  // namespace shoal
