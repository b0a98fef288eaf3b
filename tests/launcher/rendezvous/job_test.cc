// Real processes that join one job in each of the ways, watch one another, leave and die.
#include "launcher/rendezvous/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/store/file_store.h"
#include "launcher/store/socket.h"
#include "tests/launcher/forked.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// How the processes of a test are started and find each other.
struct Way {
  const char* name;
  bool coordinator = false;          // SHOAL_COORDINATOR instead of a shared directory
  bool callers_store = false;        // a store and numbers of the caller, as jax.distributed gives them
  bool callers_coordinator = false;  // an address and numbers of the caller
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class JobTest : public testing::TestWithParam<Way> {
 protected:
  JobTest() : job_(absl::StrCat("job-test-", getpid())), directory_(absl::StrCat("/tmp/", job_)) {
    std::filesystem::create_directories(directory_);
    port_ = *(*Socket::Listen(0)).Port();
  }
  ~JobTest() override { std::filesystem::remove_all(directory_); }

  // Process `id` of `count` joins and goes on with `then`, whose text is the result; or the error of joining.
  Forked Process(int id, int count, std::function<std::string(Job&)> then,
                 absl::Duration timeout = absl::Seconds(20)) {
    return Forked([=, this]() -> std::string {
      JobOptions options;
      options.num_devices = id + 1;
      options.join_timeout = timeout;
      const auto store = *FileStore::Open(absl::StrCat(directory_, "/store"));
      if (GetParam().callers_store) {
        options.process_id = id;
        options.process_count = count;
        options.store = store.get();
      } else if (GetParam().callers_coordinator) {
        options.process_id = id;
        options.process_count = count;
        options.coordinator = absl::StrCat("127.0.0.1:", port_);
      } else {
        setenv("SHOAL_NUM_PROCESSES", absl::StrCat(count).c_str(), 1);
        setenv("SHOAL_PROCESS_ID", absl::StrCat(id).c_str(), 1);
        setenv("SHOAL_JOB", job_.c_str(), 1);
      }
      if (GetParam().coordinator) setenv("SHOAL_COORDINATOR", absl::StrCat("127.0.0.1:", port_).c_str(), 1);
      auto job = Job::Join(options);
      if (!job.ok()) return job.status().ToString();
      return then(**job);
    });
  }

  const std::string& JobName() const { return job_; }
  std::string NameFile() const { return absl::StrCat(directory_, "/name"); }

  // Waits until all `count` processes have called it.
  static void Barrier(Job& job, absl::string_view name, int count) {
    (void)job.store()->Set(absl::StrCat(name, "/", job.topology().self.value()), "");
    for (int p = 0; p < count; ++p) (void)job.store()->Get(absl::StrCat(name, "/", p), absl::Seconds(20));
  }

 private:
  const std::string job_;
  const std::string directory_;
  int port_ = 0;
};

std::string Describe(Job& job) {
  const Topology& topology = job.topology();
  return absl::StrCat(topology.self.value(), " of ", topology.process_count(), ", ", topology.device_count(),
                      " devices, ", topology.SameHost(ProcessId(0), ProcessId(2)) ? "one host" : "several");
}

TEST_P(JobTest, AllJoinAndShareAStore) {
  std::vector<Forked> processes;
  for (int p = 0; p < 3; ++p) {
    processes.push_back(Process(p, 3, [](Job& job) {
      Barrier(job, "met", 3);
      return Describe(job);
    }));
  }
  for (int p = 0; p < 3; ++p) EXPECT_EQ(processes[p].Result(), absl::StrCat(p, " of 3, 6 devices, one host"));
}

// Watches until process 1 is found dead or `wait` is over; then the failures so far.
std::string WatchFor(Job& job, absl::Duration wait) {
  std::string failures;
  std::promise<void> told;
  job.WatchHealth([&](ProcessId process, const absl::Status& why) {
    absl::StrAppend(&failures, process.value(), ": ", why.ToString());
    told.set_value();
  });
  (void)job.store()->Set(absl::StrCat("watching/", job.topology().self.value()), "");
  const bool died = told.get_future().wait_for(absl::ToChronoMicroseconds(wait)) == std::future_status::ready;
  job.WatchHealth(nullptr);
  return died ? failures : "nobody died";
}

TEST_P(JobTest, DeathIsToldToAllWithinTwoSeconds) {
  std::vector<Forked> processes;
  for (const int p : {0, 2}) {
    processes.push_back(Process(p, 3, [](Job& job) {
      const std::string failures = WatchFor(job, absl::Seconds(20));
      const absl::Time seen = absl::Now();
      const int64_t killed = std::stoll(*job.store()->TryGet("killed"));
      // Whoever is first must not take the store away from the other.
      (void)job.store()->Set(absl::StrCat("seen/", job.topology().self.value()), "");
      (void)job.store()->Get(absl::StrCat("seen/", 2 - job.topology().self.value()), absl::Seconds(5));
      const bool soon = absl::ToUnixMillis(seen) - killed < 2000;
      return absl::StrCat(failures, soon ? "" : ", and it took too long");
    }));
  }
  Forked dies = Process(1, 3, [](Job& job) {
    (void)job.store()->Get("watching/0", absl::Seconds(20));
    (void)job.store()->Get("watching/2", absl::Seconds(20));
    const std::string killed = absl::StrCat(absl::ToUnixMillis(absl::Now()));
    (void)job.store()->Set("killed", killed);
    raise(SIGKILL);
    return killed;
  });
  for (Forked& process : processes) {
    const std::string result = process.Result();
    EXPECT_THAT(result, AllOf(HasSubstr("1: UNAVAILABLE: process 1 ("),
                              HasSubstr(absl::StrCat(", pid ", dies.pid())), HasSubstr("died")));
  }
}

TEST_P(JobTest, LeavingInOrderIsNoFailure) {
  std::vector<Forked> processes;
  for (const int p : {0, 2}) {
    processes.push_back(Process(p, 3, [](Job& job) {
      Barrier(job, "met", 3);
      return WatchFor(job, absl::Milliseconds(1500));
    }));
  }
  Forked leaves = Process(1, 3, [](Job& job) {
    Barrier(job, "met", 3);
    return std::string("bye");
  });
  EXPECT_EQ(leaves.Result(), "bye");
  for (Forked& process : processes) EXPECT_EQ(process.Result(), "nobody died");
}

TEST_P(JobTest, ProcessZeroMayLeaveFirst) {
  std::vector<Forked> processes;
  for (const int p : {1, 2}) {
    processes.push_back(Process(p, 3, [](Job& job) {
      Barrier(job, "met", 3);
      return WatchFor(job, absl::Seconds(1));
    }));
  }
  Forked leaves = Process(0, 3, [](Job& job) {
    Barrier(job, "met", 3);
    (void)job.store()->Get("watching/1", absl::Seconds(20));
    (void)job.store()->Get("watching/2", absl::Seconds(20));
    return std::string("bye");
  });
  EXPECT_EQ(leaves.Result(), "bye");
  for (Forked& process : processes) EXPECT_EQ(process.Result(), "nobody died");
}

TEST_P(JobTest, NothingIsLeftWhenAllAreKilled) {
  std::vector<Forked> processes;
  for (int p = 0; p < 2; ++p) {
    processes.push_back(Process(p, 2, [p, name = NameFile()](Job& job) {
      if (p == 0) std::ofstream(name) << job.topology().job;
      Barrier(job, "met", 2);
      raise(SIGKILL);
      return std::string("lives");
    }));
  }
  for (Forked& process : processes) EXPECT_EQ(process.Result(), "");
  std::string name;
  ASSERT_TRUE(std::ifstream(NameFile()) >> name);
  const std::string root = absl::StrCat("/dev/shm/shoal-", getuid(), "/");
  EXPECT_FALSE(std::filesystem::exists(root + name)) << name;
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(root, JobName(), "-0")));
}

TEST_P(JobTest, MissingProcessIsNamed) {
  Forked zero = Process(0, 3, Describe, absl::Milliseconds(300));
  Forked two = Process(2, 3, Describe, absl::Milliseconds(300));
  EXPECT_THAT(zero.Result(), HasSubstr("process 1 of 3 did not join the job within 300ms"));
  EXPECT_THAT(two.Result(), HasSubstr("process 1 of 3 did not join the job within 300ms"));
}

INSTANTIATE_TEST_SUITE_P(All, JobTest,
                         testing::Values(Way{.name = "OneHost"},
                                         Way{.name = "Coordinator", .coordinator = true},
                                         Way{.name = "CallersStore", .callers_store = true},
                                         Way{.name = "CallersCoordinator", .callers_coordinator = true}),
                         [](const auto& info) { return std::string(info.param.name); });

// An address that no machine has (RFC 5737).
TEST(CoordinatorTest, AddressOfAnotherMachineIsNamed) {
  Forked zero([]() -> std::string {
    setenv("SHOAL_NUM_PROCESSES", "2", 1);
    setenv("SHOAL_PROCESS_ID", "0", 1);
    setenv("SHOAL_COORDINATOR", absl::StrCat("192.0.2.1:", *(*Socket::Listen(0)).Port()).c_str(), 1);
    JobOptions options;
    options.join_timeout = absl::Milliseconds(300);
    return Job::Join(options).status().ToString();
  });
  EXPECT_THAT(zero.Result(),
              testing::ContainsRegex("process 1 of 2 did not join the job .*; they look for process 0 at "
                                     "192.0.2.1:[0-9]+, which is no address of this machine"));
}

int OpenFiles() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists();
  return count;
}

int Threads() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
  return count;
}

TEST(SingleJobTest, MakesNoFileAndNoThread) {
  Forked process([]() -> std::string {
    const int files = OpenFiles(), threads = Threads();
    JobOptions options;
    options.num_devices = 3;
    auto job = Job::Join(options);
    if (!job.ok()) return job.status().ToString();
    (*job)->WatchHealth([](ProcessId, absl::Status) {});
    if ((*job)->store() != nullptr) return "has a store";
    if ((*job)->topology().device_count() != 3) return "has other devices";
    return absl::StrCat(OpenFiles() - files, " files, ", Threads() - threads, " threads");
  });
  EXPECT_EQ(process.Result(), "0 files, 0 threads");
}

TEST(SingleJobTest, NeedsADevice) {
  JobOptions options;
  options.num_devices = 0;
  EXPECT_EQ(Job::Join(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SingleJobTest, CoordinatorIsAnAddress) {
  Forked alone([]() -> std::string {
    setenv("SHOAL_COORDINATOR", "nonsense", 1);
    return Job::Join({}).status().ToString();
  });
  EXPECT_THAT(alone.Result(), HasSubstr("SHOAL_COORDINATOR: \"nonsense\" is not HOST:PORT"));
}

}  // namespace
}  // namespace shoal
