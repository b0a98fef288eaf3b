#include "launcher/rendezvous/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/store/memory_store.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Cluster Mpirun(int id, int count) {
  return {
      .environment = "Open MPI", .process_id = id, .process_count = count, .local_count = count, .job = "j"};
}

JobOptions Caller(int id, int count, KeyValueStore* store = nullptr) {
  JobOptions options;
  options.process_id = id;
  options.process_count = count;
  options.store = store;
  return options;
}

TEST(AgreementTest, NobodySaysAnythingIsOneProcess) {
  const auto place = Agree(JobOptions(), std::nullopt);
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->process_count, 1);
}

TEST(AgreementTest, EnvironmentAlone) {
  const auto place = Agree(JobOptions(), Mpirun(2, 3));
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->process, ProcessId(2));
  EXPECT_EQ(place->process_count, 3);
  EXPECT_TRUE(place->cluster.has_value());
}

TEST(AgreementTest, CallerAlone) {
  MemoryStore store;
  const auto place = Agree(Caller(2, 3, &store), std::nullopt);
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->process, ProcessId(2));
  EXPECT_FALSE(place->cluster.has_value());
}

TEST(AgreementTest, BothAgree) {
  MemoryStore store;
  EXPECT_TRUE(Agree(Caller(2, 3, &store), Mpirun(2, 3)).ok());
  EXPECT_TRUE(Agree(Caller(2, 3), Mpirun(2, 3)).ok());
}

TEST(AgreementTest, CallerWithinMpirunOfOne) {
  MemoryStore store;
  const auto place = Agree(Caller(2, 3, &store), Mpirun(0, 1));
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->process_count, 3);
}

TEST(AgreementTest, DisagreementNamesBoth) {
  MemoryStore store;
  for (const JobOptions& options : {Caller(2, 5, &store), Caller(1, 3, &store), Caller(0, 1)}) {
    const auto place = Agree(options, Mpirun(2, 3));
    EXPECT_EQ(place.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(place.status().message(),
                AllOf(HasSubstr("jax.distributed"), HasSubstr("Open MPI says that this is process 2 of 3")));
  }
}

TEST(AgreementTest, CallerThatMakesNoSense) {
  MemoryStore store;
  EXPECT_EQ(Agree(Caller(3, 3, &store), std::nullopt).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Agree(Caller(0, 3), std::nullopt).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shoal
