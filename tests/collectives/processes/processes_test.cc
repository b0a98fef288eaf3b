// Real processes: over shared memory (started here) and over MPI (started by mpirun where there is one).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

class ProcessesTest : public testing::Test {
 protected:
  ProcessesTest() {
    char name[] = "/tmp/shoal_processes_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ProcessesTest() override { EXPECT_EQ(system(("rm -r " + folder_).c_str()), 0); }

  struct Result {
    std::string output;
    int status = 0;
    bool Says(absl::string_view text) const { return absl::StrContains(output, text); }
  };

  static Result Collect(FILE* pipe) {
    Result result;
    char buffer[4096];
    while (size_t n = fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, n);
    result.status = pclose(pipe);
    return result;
  }

  // Each process's output.
  std::vector<Result> Start(const std::string& scenario, int processes, int devices, int timeout_s = 20,
                            absl::string_view variables = "") {
    std::vector<FILE*> pipes;
    for (int rank = 0; rank < processes; ++rank) {
      const std::string command =
          absl::StrCat(variables, " SHOAL_TIMEOUT_S=", timeout_s, " timeout 60 ", COLLECTIVES_PROCESS, " ",
                       scenario, " ", folder_, " ", processes, " ", devices, " ", rank, " 2>&1");
      pipes.push_back(popen(command.c_str(), "r"));
    }
    std::vector<Result> results;
    for (FILE* pipe : pipes) results.push_back(Collect(pipe));
    return results;
  }

  // Under address sanitizer leaks are not looked for: Open MPI unloads its components without freeing what
  // they hold, and a suppression finds no name for them then.
  Result StartMpi(const std::string& scenario, int processes, int devices, int timeout_s = 20) {
    const std::string command = absl::StrCat(
        "ASAN_OPTIONS=detect_leaks=0 SHOAL_SHM=0 SHOAL_TIMEOUT_S=", timeout_s, " timeout 100 mpirun -n ",
        processes, " --oversubscribe --allow-run-as-root --bind-to none ", COLLECTIVES_PROCESS, " ", scenario,
        " ", folder_, " ", processes, " ", devices, " 2>&1");
    return Collect(popen(command.c_str(), "r"));
  }
  static bool HasMpi() { return system("which mpirun >/dev/null 2>&1") == 0; }

  std::string folder_;
};

TEST_F(ProcessesTest, SharedMemoryChecks) {
  for (const Result& result : Start("check", 3, 1)) {
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_TRUE(result.Says("ok OK")) << result.output;
  }
}

TEST_F(ProcessesTest, SharedMemoryWithSeveralDevicesChecks) {
  for (const Result& result : Start("check", 2, 3)) EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(ProcessesTest, FourProcessesOnTwoCoresCheck) {
  for (const Result& result : Start("check", 4, 1)) EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(ProcessesTest, WishedAlgorithmsCheck) {
  constexpr absl::string_view kWishes =
      "SHOAL_ALGORITHMS=all-reduce=ring,all-gather=bruck,reduce-scatter=pairwise,all-to-all=pairwise,"
      "collective-broadcast=binomial";
  for (const Result& result : Start("check", 3, 1, 20, kWishes)) {
    EXPECT_EQ(result.status, 0) << result.output;
  }
}

TEST_F(ProcessesTest, RandomCollectivesAreRight) {
  for (const Result& result : Start("soak", 3, 2)) EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(ProcessesTest, KilledProcessIsNamed) {
  const std::vector<Result> results = Start("kill", 3, 1);
  for (int rank : {0, 2}) {
    EXPECT_TRUE(results[rank].Says("error UNAVAILABLE: process 1 (testhost, pid ")) << results[rank].output;
    EXPECT_TRUE(results[rank].Says("has ended")) << results[rank].output;
    EXPECT_TRUE(results[rank].Says("all-reduce.1 f32[1200]")) << results[rank].output;
    // The other survivor may have ended before, and is named too.
    EXPECT_THAT(results[rank].output, testing::ContainsRegex("health UNAVAILABLE: .*process 1 .* has ended"))
        << results[rank].output;
    EXPECT_FALSE(results[rank].Says("after 5")) << results[rank].output;
  }
}

TEST_F(ProcessesTest, AbsentProcessIsNamedAfterTheTimeout) {
  const std::vector<Result> results = Start("absent", 3, 1, 2);
  for (const Result& result : results) {
    EXPECT_TRUE(result.Says("error DEADLINE_EXCEEDED: process 1 (testhost, pid ")) << result.output;
    EXPECT_TRUE(result.Says("has not come to 'all-reduce.1 f32[1200]' of run 2")) << result.output;
    EXPECT_TRUE(result.Says("2s")) << result.output;
  }
  for (int rank : {0, 2}) {
    EXPECT_THAT(results[rank].output,
                testing::ContainsRegex(
                    "process 1 was last heard of 2\\..*s ago, at 'all-reduce.0 f32.1200.' of run 1"));
  }
}

TEST_F(ProcessesTest, DisagreementNamesBothSidesEverywhere) {
  for (const std::string scenario : {"other_operation", "other_shape", "other_program"}) {
    SCOPED_TRACE(scenario);
    const std::vector<Result> results = Start(scenario, 3, 1);
    for (const Result& result : results) {
      EXPECT_TRUE(result.Says("error FAILED_PRECONDITION: processes disagree in run 2: process "))
          << result.output;
      EXPECT_TRUE(result.Says("process 1 (testhost")) << result.output;
      EXPECT_TRUE(result.Says("'all-reduce.1 f32[1200]'")) << result.output;
      if (scenario == "other_operation") EXPECT_TRUE(result.Says("'all-gather.1 f32[600]'")) << result.output;
      if (scenario == "other_shape") EXPECT_TRUE(result.Says("'all-reduce.1 f32[600]'")) << result.output;
      EXPECT_TRUE(result.Says("again ok")) << result.output;
    }
    EXPECT_EQ(system(("rm " + folder_ + "/*").c_str()), 0);
  }
}

TEST_F(ProcessesTest, AbortReachesEverybody) {
  for (const Result& result : Start("abort", 3, 1)) {
    EXPECT_TRUE(result.Says("error INVALID_ARGUMENT: process 1 raised ValueError")) << result.output;
    EXPECT_TRUE(result.Says("again ok")) << result.output;
  }
}

#ifdef SHOAL_HAS_UCX
constexpr absl::string_view kUcx = "SHOAL_SHM=0 SHOAL_TRANSPORT=ucx";

TEST_F(ProcessesTest, UcxChecks) {
  for (const auto [processes, devices] : {std::pair{2, 2}, {3, 1}}) {
    for (const Result& result : Start("check", processes, devices, 20, kUcx)) {
      EXPECT_EQ(result.status, 0) << result.output;
    }
    EXPECT_EQ(system(("rm " + folder_ + "/*").c_str()), 0);
  }
}

TEST_F(ProcessesTest, RandomCollectivesOverUcxAreRight) {
  for (const Result& result : Start("soak", 3, 1, 20, kUcx)) EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(ProcessesTest, KilledProcessIsNamedOverUcx) {
  const std::vector<Result> results = Start("kill", 3, 1, 20, kUcx);
  for (int rank : {0, 2}) {
    EXPECT_TRUE(results[rank].Says("error UNAVAILABLE: process 1 (testhost, pid ")) << results[rank].output;
    EXPECT_TRUE(results[rank].Says("all-reduce.1 f32[1200]")) << results[rank].output;
  }
}
#endif

TEST_F(ProcessesTest, MpiChecks) {
  if (!HasMpi()) GTEST_SKIP() << "no mpirun";
  for (const auto [processes, devices] : {std::pair{2, 1}, {3, 2}, {4, 1}}) {
    const Result result = StartMpi("check", processes, devices);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(system(("rm " + folder_ + "/*").c_str()), 0);
  }
}

TEST_F(ProcessesTest, RandomCollectivesOverMpiAreRight) {
  if (!HasMpi()) GTEST_SKIP() << "no mpirun";
  const Result result = StartMpi("soak", 3, 1);
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(ProcessesTest, MpiDisagreementAndAbsenceAreNamed) {
  if (!HasMpi()) GTEST_SKIP() << "no mpirun";
  Result result = StartMpi("other_operation", 3, 1);
  EXPECT_TRUE(result.Says("error FAILED_PRECONDITION: processes disagree in run 2")) << result.output;
  EXPECT_TRUE(result.Says("again ok")) << result.output;
  EXPECT_EQ(system(("rm " + folder_ + "/*").c_str()), 0);
  result = StartMpi("absent", 2, 1, 2);
  EXPECT_TRUE(result.Says("error DEADLINE_EXCEEDED: process 1")) << result.output;
}

}  // namespace
}  // namespace shoal
