// Environments as their launchers really set them: recorded from Open MPI 4.1.4 and 5.0.11, MPICH 5.0.2 and
// Slurm 22.05, or from their manuals.
#include "launcher/cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "launcher/cluster/binding.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Ne;

using Faked = std::map<std::string, std::string, std::less<>>;

absl::StatusOr<std::optional<Cluster>> Find(const Faked& faked) {
  return FindCluster([&](absl::string_view name) -> std::optional<std::string> {
    const auto found = faked.find(std::string(name));
    if (found == faked.end() || found->second.empty()) return std::nullopt;
    return found->second;
  });
}

Cluster Found(const Faked& faked) {
  const auto cluster = Find(faked);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (!cluster.ok() || !cluster->has_value()) return Cluster{.environment = "none"};
  return **cluster;
}

Faked OpenMpi(int rank, int size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size)},
          {"OMPI_MCA_ess_base_jobid", "1219690497"},
          {"OMPI_MCA_orte_hnp_uri", "1219690496.0;tcp://192.0.2.2:60983"}};
}

TEST(ClusterTest, NothingSetIsNoCluster) {
  const auto cluster = Find({});
  ASSERT_TRUE(cluster.ok());
  EXPECT_FALSE(cluster->has_value());
}

TEST(ClusterTest, OpenMpiOnOneHost) {
  const Cluster cluster = Found(OpenMpi(2, 3));
  EXPECT_EQ(cluster.environment, "Open MPI");
  EXPECT_EQ(cluster.process_id, 2);
  EXPECT_EQ(cluster.process_count, 3);
  EXPECT_TRUE(cluster.one_host());
  EXPECT_EQ(cluster.job, Found(OpenMpi(0, 3)).job);
}

TEST(ClusterTest, OpenMpiOnTwoHosts) {
  Faked faked = OpenMpi(5, 7);
  faked["OMPI_COMM_WORLD_LOCAL_RANK"] = "1";
  faked["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  const Cluster cluster = Found(faked);
  EXPECT_FALSE(cluster.one_host());
  EXPECT_EQ(cluster.local_id, 1);
}

TEST(ClusterTest, AnotherMpirunIsAnotherJob) {
  Faked faked = OpenMpi(0, 3);
  faked["OMPI_MCA_orte_hnp_uri"] = "1219690496.0;tcp://192.0.2.2:60984";
  EXPECT_THAT(Found(faked).job, Ne(Found(OpenMpi(0, 3)).job));
}

TEST(ClusterTest, MpirunInsideSlurmIsOpenMpi) {
  Faked faked = OpenMpi(1, 3);
  faked["SLURM_STEP_ID"] = "0";
  faked["SLURM_PROCID"] = "0";
  faked["SLURM_STEP_NUM_TASKS"] = "1";
  const Cluster cluster = Found(faked);
  EXPECT_EQ(cluster.environment, "Open MPI");
  EXPECT_EQ(cluster.process_count, 3);
}

TEST(ClusterTest, PlainVariablesComeFirst) {
  Faked faked = OpenMpi(1, 3);
  faked["SHOAL_NUM_PROCESSES"] = "5";
  faked["SHOAL_PROCESS_ID"] = "4";
  const Cluster cluster = Found(faked);
  EXPECT_EQ(cluster.environment, "SHOAL variables");
  EXPECT_EQ(cluster.process_id, 4);
  EXPECT_TRUE(cluster.one_host());
}

TEST(ClusterTest, PlainWithCoordinatorMayBeManyHosts) {
  const Cluster cluster =
      Found({{"SHOAL_NUM_PROCESSES", "3"}, {"SHOAL_PROCESS_ID", "1"}, {"SHOAL_COORDINATOR", "n01:1234"}});
  EXPECT_FALSE(cluster.one_host());
  EXPECT_EQ(cluster.coordinator, "n01:1234");
}

TEST(ClusterTest, PlainNeedsItsNumber) {
  const auto cluster = Find({{"SHOAL_NUM_PROCESSES", "3"}});
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(cluster.status().message(), HasSubstr("SHOAL_PROCESS_ID is not set"));
  EXPECT_EQ(Found({{"SHOAL_NUM_PROCESSES", "1"}}).process_count, 1);
}

TEST(ClusterTest, PlainNumberNeedsItsCount) {
  const auto cluster = Find({{"SHOAL_PROCESS_ID", "1"}});
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(cluster.status().message(), HasSubstr("SHOAL_NUM_PROCESSES is not set"));
}

TEST(ClusterTest, ImpossibleNumbersAreNamed) {
  auto cluster = Find(OpenMpi(3, 3));
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(cluster.status().message(), HasSubstr("Open MPI says that this is process 3 of 3"));
  cluster = Find({{"SHOAL_NUM_PROCESSES", "many"}});
  EXPECT_THAT(cluster.status().message(), HasSubstr("SHOAL_NUM_PROCESSES=\"many\""));
  // A count that makes no sense is what is wrong, whether there is a number or not.
  for (const char* count : {"0", "1000000000"}) {
    cluster = Find({{"SHOAL_NUM_PROCESSES", count}, {"SHOAL_PROCESS_ID", "0"}});
    EXPECT_THAT(cluster.status().message(), HasSubstr(absl::StrCat("the job has ", count, " processes")));
  }
  EXPECT_THAT(Find({{"SHOAL_NUM_PROCESSES", "0"}}).status().message(), HasSubstr("the job has 0 processes"));
}

Faked Slurm(const std::string& nodes, const std::string& tasks_per_node, int node) {
  return {{"SLURM_JOB_ID", "4711"},
          {"SLURM_STEP_ID", "2"},
          {"SLURM_STEP_NUM_TASKS", "7"},
          {"SLURM_NTASKS", "99"},
          {"SLURM_PROCID", "3"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_STEP_NODELIST", nodes},
          {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
          {"SLURM_NODEID", std::to_string(node)}};
}

TEST(ClusterTest, SlurmStep) {
  const Cluster cluster = Found(Slurm("n[07-09],m3", "2(x3),1", 1));
  EXPECT_EQ(cluster.environment, "Slurm");
  EXPECT_EQ(cluster.process_id, 3);
  EXPECT_EQ(cluster.process_count, 7);
  EXPECT_EQ(cluster.local_count, 2);
  EXPECT_THAT(cluster.coordinator, testing::MatchesRegex("n07:2[0-9][0-9][0-9][0-9]"));
  EXPECT_EQ(Found(Slurm("n[07-09],m3", "2(x3),1", 3)).local_count, 1);
  EXPECT_EQ(Found(Slurm("a,b", "2(x3),1", 9)).local_count, 0);
  EXPECT_THAT(Found(Slurm("a,b", "7", 0)).coordinator, testing::StartsWith("a:"));
  EXPECT_TRUE(Found(Slurm("node3", "7", 0)).one_host());
}

TEST(ClusterTest, CoordinatorIsTheUsersWord) {
  Faked slurm = Slurm("n[07-09],m3", "2(x3),1", 1);
  slurm["SHOAL_COORDINATOR"] = "fast07:99";
  EXPECT_EQ(Found(slurm).coordinator, "fast07:99");
  Faked mpi = OpenMpi(1, 3);
  mpi["SHOAL_COORDINATOR"] = "fast07:99";
  EXPECT_TRUE(Found(mpi).one_host());
}

TEST(ClusterTest, SlurmBatchScriptIsOneProcess) {
  const auto cluster = Find({{"SLURM_JOB_ID", "4711"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}});
  ASSERT_TRUE(cluster.ok());
  EXPECT_FALSE(cluster->has_value());
}

TEST(ClusterTest, Mpich) {
  const Cluster cluster =
      Found({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "3"}});
  EXPECT_EQ(cluster.environment, "PMI");
  EXPECT_EQ(cluster.process_id, 1);
  EXPECT_TRUE(cluster.one_host());
}

// MPICH's mpiexec names no job: two at one time differ by the maker of the socket that each process has to
// it.
// mpirun -n 2 on 64 cores; and what is bound as it should be.
TEST(BindingWarningTest, SpeaksOnceOfIdleCores) {
  const Cluster first = Found(OpenMpi(0, 2));
  EXPECT_THAT(
      BindingWarning(first, {1, 64}),
      AllOf(HasSubstr("bound each process of this host to 1 core, so that 62 of 64 cores have nothing to do"),
            HasSubstr("--map-by slot:PE=32")));
  EXPECT_EQ(BindingWarning(first, {32, 64}), "");
  EXPECT_EQ(BindingWarning(first, {64, 64}), "");
  EXPECT_EQ(BindingWarning(first, {1, 2}), "");
  EXPECT_EQ(BindingWarning(first, {0, 0}), "");
  EXPECT_EQ(BindingWarning(Found(OpenMpi(1, 2)), {1, 64}), "");
}

TEST(ClusterTest, MpichJobsOfOneHostDiffer) {
  const auto on_socket = [](int file) {
    return Found({{"PMI_RANK", "0"},
                  {"PMI_SIZE", "2"},
                  {"PMI_FD", std::to_string(file)},
                  {"HYDI_CONTROL_FD", "7"},
                  {"PMI_HOSTNAME", "vm"},
                  {"MPI_LOCALRANKID", "0"},
                  {"MPI_LOCALNRANKS", "2"}});
  };
  int ours[2], pipe_ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ours), 0);
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(on_socket(ours[0]).job, on_socket(ours[1]).job);
  EXPECT_EQ(on_socket(pipe_ends[0]).process_count, 2);  // what is no socket is passed over
  const pid_t other = fork();
  if (other == 0) {
    int others[2];
    _exit(socketpair(AF_UNIX, SOCK_STREAM, 0, others) == 0 &&
          on_socket(ours[0]).job != on_socket(others[0]).job);
  }
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(ClusterTest, MpichHostsOfOneJobAgree) {
  const auto on_host = [](const char* rank, const char* control, const char* coordinator) {
    return Found({{"PMI_RANK", rank},
                  {"PMI_SIZE", "4"},
                  {"PMI_FD", "5"},
                  {"HYDI_CONTROL_FD", control},
                  {"MPI_LOCALNRANKS", "2"},
                  {"SHOAL_COORDINATOR", coordinator}})
        .job;
  };
  EXPECT_EQ(on_host("0", "7", "n1:99"), on_host("3", "9", "n1:99"));
  EXPECT_NE(on_host("0", "7", "n1:99"), on_host("0", "7", "n1:98"));
}

TEST(ClusterTest, PmixWithoutCountSaysWhatToSet) {
  const auto cluster = Find({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "prterun-1"}});
  EXPECT_THAT(cluster.status().message(), HasSubstr("SHOAL_NUM_PROCESSES"));
}

}  // namespace
}  // namespace shoal
