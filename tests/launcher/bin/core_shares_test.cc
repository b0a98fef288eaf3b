#include "launcher/bin/core_shares.h"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As Linux numbers two packages of two cores with two hardware threads each: first threads first.
const std::vector<Core> kMachine = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1},
                                    {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};

TEST(ShareCoresTest, WholeCoresAndNeighbours) {
  EXPECT_THAT(ShareCores(kMachine, 1), ElementsAre(ElementsAre(0, 4, 1, 5, 2, 6, 3, 7)));
  EXPECT_THAT(ShareCores(kMachine, 2), ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6, 3, 7)));
  EXPECT_THAT(ShareCores(kMachine, 3),
              ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
}

TEST(ShareCoresTest, HardwareThreadsWhereCoresAreTooFew) {
  EXPECT_THAT(ShareCores(kMachine, 5), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2),
                                                   ElementsAre(6, 3), ElementsAre(7)));
}

TEST(ShareCoresTest, NoneWhereEvenThoseAreTooFew) { EXPECT_THAT(ShareCores(kMachine, 9), IsEmpty()); }

TEST(AllowedCoresTest, ReadsTheSystemsFiles) {
  const std::filesystem::path root = testing::TempDir() + "core_shares_test";
  const std::vector<Core> here = AllowedCores();
  ASSERT_FALSE(here.empty());
  const int cpu = here.back().cpu;
  std::filesystem::create_directories(root / ("cpu" + std::to_string(cpu)) / "topology");
  std::ofstream(root / ("cpu" + std::to_string(cpu)) / "topology/physical_package_id") << "3\n";
  std::ofstream(root / ("cpu" + std::to_string(cpu)) / "topology/core_id") << "17\n";
  EXPECT_EQ(AllowedCores(root.string()).back(), (Core{cpu, 3, 17}));
  std::filesystem::remove_all(root);
  EXPECT_EQ(AllowedCores(root.string()).back(), (Core{cpu, 0, cpu}));  // none to read: each a core of its own
}

}  // namespace
}  // namespace shoal
