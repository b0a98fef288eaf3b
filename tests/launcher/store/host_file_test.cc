// Real processes, since record locks are theirs.
#include "launcher/store/host_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/store/process_claim.h"
#include "tests/launcher/forked.h"

namespace shoal {
namespace {

using testing::HasSubstr;

constexpr int kCount = 5;  // processes of the job, most of which never come

std::string JobOf(absl::string_view test) { return absl::StrCat("test-", getpid(), "-", test); }

// Enters as `self`, then stays until it is killed, or leaves when the file appears.
Forked Member(const std::string& job, int self, const std::string& leave_when = "", int count = kCount) {
  return Forked([=]() -> std::string {
    auto file = HostFile::Enter(job, ProcessId(self), count, absl::Seconds(5));
    if (!file.ok()) return std::string(file.status().message());
    while (leave_when.empty() || access(leave_when.c_str(), F_OK) != 0) absl::SleepFor(absl::Milliseconds(5));
    file->reset();
    return "left";
  });
}

void WaitFor(const HostFile& file, int process, Presence wanted) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (file.Look(ProcessId(process)) != wanted && absl::Now() < deadline)
    absl::SleepFor(absl::Milliseconds(2));
  EXPECT_EQ(file.Look(ProcessId(process)), wanted) << process;
}

TEST(HostFileTest, TellsDeathFromLeaving) {
  const std::string job = JobOf("presence");
  const std::string signal = absl::StrCat("/tmp/", job);
  Forked dies = Member(job, 1);
  Forked leaves = Member(job, 2, signal);
  auto file = *HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
  WaitFor(*file, 1, Presence::kPresent);
  WaitFor(*file, 2, Presence::kPresent);
  EXPECT_EQ(file->Look(ProcessId(3)), Presence::kNotYet);
  EXPECT_EQ(file->Look(ProcessId(0)), Presence::kPresent);

  const absl::Time killed = absl::Now();
  dies.Kill(SIGKILL);
  WaitFor(*file, 1, Presence::kDied);
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
  std::ofstream(signal).close();
  WaitFor(*file, 2, Presence::kLeft);
  EXPECT_EQ(leaves.Result(), "left");
  std::filesystem::remove(signal);
}

TEST(HostFileTest, StoppedProcessIsPresent) {
  const std::string job = JobOf("stopped");
  Forked member = Member(job, 1);
  auto file = *HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
  WaitFor(*file, 1, Presence::kPresent);
  member.Kill(SIGSTOP);
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(file->Look(ProcessId(1)), Presence::kPresent);
}

TEST(HostFileTest, ChildOfADeadProcessDoesNotKeepItAlive) {
  const std::string job = JobOf("child");
  Forked member([=]() -> std::string {
    auto file = HostFile::Enter(job, ProcessId(1), kCount, absl::Seconds(5));
    if (fork() == 0) {
      alarm(20);
      pause();
    }
    pause();
    return "";
  });
  auto file = *HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
  WaitFor(*file, 1, Presence::kPresent);
  absl::SleepFor(absl::Milliseconds(50));  // for its fork
  member.Kill(SIGKILL);
  WaitFor(*file, 1, Presence::kDied);
}

TEST(HostFileTest, ChildThatEndsDoesNotTakeItsParentAlong) {
  const std::string job = JobOf("fork");
  auto file = *HostFile::Enter(job, ProcessId(1), kCount, absl::Seconds(5));
  Forked child([&]() -> std::string {
    file.reset();
    return "ended";
  });
  EXPECT_EQ(child.Result(), "ended");
  Forked other([&]() -> std::string {
    auto seen = HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
    return seen.ok() && (*seen)->Look(ProcessId(1)) == Presence::kPresent ? "present" : "gone";
  });
  EXPECT_EQ(other.Result(), "present");
}

TEST(HostFileTest, SaysWhoKeepsItOut) {
  const std::string path = absl::StrCat("/dev/shm/shoal-", getuid(), "/lock");
  const auto inside = HostFile::Enter(JobOf("inside"), ProcessId(0), kCount, absl::Seconds(5));
  Forked holder([path]() -> std::string {
    const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    while (flock(file, LOCK_EX) != 0) continue;
    std::ofstream(absl::StrCat("/tmp/locked-", getppid())).close();
    absl::SleepFor(absl::Seconds(60));
    return "";
  });
  const std::string locked = absl::StrCat("/tmp/locked-", getpid());
  while (access(locked.c_str(), F_OK) != 0) absl::SleepFor(absl::Milliseconds(2));
  const auto late = HostFile::Enter(JobOf("late"), ProcessId(0), kCount, absl::Milliseconds(100));
  const std::string pid = absl::StrCat("stays locked by process ", holder.pid(), ";");
  holder.Kill(SIGKILL);
  std::filesystem::remove(locked);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr(pid));
}

TEST(HostFileTest, DoesNotCountToWhateverIsAskedFor) {
  const absl::Time start = absl::Now();
  EXPECT_TRUE(HostFile::Enter(JobOf("huge"), ProcessId(0), 2'000'000'000, absl::Seconds(5)).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST(HostFileTest, LastOneRemovesIt) {
  auto file = *HostFile::Enter(JobOf("last"), ProcessId(4), kCount, absl::Seconds(5));
  const std::string path = file->path();
  EXPECT_TRUE(std::filesystem::exists(path));
  file.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HostFileTest, NothingIsLeftOfAJobThatIsKilledWhenAllAreIn) {
  const std::string job = JobOf("complete");
  Forked one = Member(job, 1, "", 3);
  Forked two = Member(job, 2, "", 3);
  Forked zero([=]() -> std::string {
    auto file = *HostFile::Enter(job, ProcessId(0), 3, absl::Seconds(5));
    WaitFor(*file, 1, Presence::kPresent);
    WaitFor(*file, 2, Presence::kPresent);
    return file.release()->path();
  });
  const std::string path = zero.Result();
  ASSERT_THAT(path, HasSubstr(job));
  // Who is seen to be present takes the name away a moment later, if it is the last.
  for (int wait = 0; wait < 1000 && std::filesystem::exists(path); ++wait)
    absl::SleepFor(absl::Milliseconds(5));
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A process of a job that is not complete enters and is killed; then its file's path.
std::string DieEntering(const std::string& job) {
  Forked dies([=]() -> std::string {
    auto file = HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
    if (!file.ok()) return std::string(file.status().message());
    (void)(*file)->store()->Set("old", "");
    return file->release()->path();
  });
  return dies.Result();
}

TEST(HostFileTest, NextJobClearsWhatADeadOneLeft) {
  const std::string path = DieEntering(JobOf("dead"));
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  const auto file = *HostFile::Enter(JobOf("next"), ProcessId(0), kCount, absl::Seconds(5));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HostFileTest, DeadJobOfTheSameNameIsForgotten) {
  const std::string job = JobOf("same");
  ASSERT_TRUE(std::filesystem::exists(DieEntering(job)));
  const auto file = HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->store()->TryGet("old").ok());
}

TEST(HostFileTest, SameNumberTwiceIsNamedWhenAllAreIn) {
  const std::string job = JobOf("late");
  Forked first([=]() -> std::string {
    auto file = HostFile::Enter(job, ProcessId(0), 1, absl::Seconds(5));
    pause();
    return "";
  });
  absl::StatusOr<std::unique_ptr<HostFile>> second;
  for (int attempt = 0; attempt < 200 && !absl::IsAlreadyExists(second.status()); ++attempt) {
    second = absl::UnknownError("");  // leaves, if the first was not in yet
    absl::SleepFor(absl::Milliseconds(10));
    second = HostFile::Enter(job, ProcessId(0), 1, absl::ZeroDuration());
  }
  EXPECT_THAT(second.status().message(), HasSubstr("process 0 of this job runs already"));
}

// A pool of workers starts ever new ones where each of them is refused.
TEST(ProcessClaimTest, IsKeptHoweverManyAsk) {
  const std::string job = JobOf("asked");
  Forked first([=]() -> std::string {
    ProcessClaim claim;
    claim.Claim(job, ProcessId(0));
    pause();
    return "";
  });
  while (ProcessClaim().Claim(job, ProcessId(0)) != first.pid()) absl::SleepFor(absl::Milliseconds(5));
  int refused = 0;
  for (int i = 0; i < 6000; ++i) refused += ProcessClaim().Claim(job, ProcessId(0)) != 0;
  EXPECT_EQ(refused, 6000);
}

TEST(HostFileTest, SameNumberTwiceIsNamed) {
  const std::string job = JobOf("twice");
  Forked first = Member(job, 1);
  auto other = *HostFile::Enter(job, ProcessId(0), kCount, absl::Seconds(5));
  WaitFor(*other, 1, Presence::kPresent);
  const auto second = HostFile::Enter(job, ProcessId(1), kCount, absl::Milliseconds(100));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("process 1 of this job runs already"));
}

}  // namespace
}  // namespace shoal
