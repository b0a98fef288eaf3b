#include "core/base/timeline.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What is in the file is read as JSON by tests/distributed/timeline_test.py.
class TimelineTest : public testing::Test {
 protected:
  ~TimelineTest() override { unlink(path_.c_str()); }

  static Topology TopologyOf(int self, const std::string& job) {
    Topology topology;
    topology.self = ProcessId(self);
    topology.job = job;
    topology.processes = {{HostId(0), "north", 17, 1, DeviceId(0)}, {HostId(1), "south", 19, 1, DeviceId(1)}};
    return topology;
  }

  // What the file holds once process `self` of `job` has written one entry.
  std::string After(int self, const std::string& job, int64_t start_us, absl::Duration ahead,
                    const std::string& name) {
    Timeline timeline(path_, 10);
    timeline.SetPlace(TopologyOf(self, job), ahead);
    timeline.Add({TimelineRow::kPrograms, self, start_us * 1000, start_us * 1000 + 2500}, name);
    EXPECT_TRUE(timeline.Write().ok());
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::string path_ = absl::StrCat(testing::TempDir(), "timeline_test.", getpid(), ".json");
};

TEST_F(TimelineTest, ProcessesOfAJobShareTheFileAndTheClockOfProcess0) {
  After(1, "job-a", 1'700'000'005'000'000, absl::Milliseconds(7), "late");
  const std::string both = After(0, "job-a", 1'700'000'005'000'100, absl::ZeroDuration(), "early");
  // An hour is in front, for who began before the first to write did, which it is 6.9 ms earlier by process
  // 0's clock.
  EXPECT_THAT(both, AllOf(HasSubstr("\"ts\":3600000000.000,\"dur\":2.500,\"name\":\"late\""),
                          HasSubstr("\"ts\":3599993100.000,\"dur\":2.500,\"name\":\"early\"")));
  EXPECT_THAT(both, AllOf(HasSubstr("process 0 (north, pid 17)"), HasSubstr("process 1 (south, pid 19)")));
}

TEST_F(TimelineTest, AnotherJobBeginsTheFileAnew) {
  After(0, "job-a", 1, absl::ZeroDuration(), "old");
  const std::string text = After(0, "job-b", 1, absl::ZeroDuration(), "new");
  EXPECT_THAT(text, AllOf(Not(HasSubstr("old")), HasSubstr("new"), StartsWith("{"), EndsWith("]}\n")));
}

TEST_F(TimelineTest, AFileOfSomethingElseIsBegunAnew) {
  std::ofstream(path_) << "{\"job\":\"job-a\"";
  EXPECT_THAT(After(0, "job-a", 1, absl::ZeroDuration(), "new"), AllOf(HasSubstr("new"), EndsWith("]}\n")));
}

TEST_F(TimelineTest, NamesAreQuoted) {
  EXPECT_THAT(After(0, "job-a", 1, absl::ZeroDuration(), "a\"b\\c\nd"), HasSubstr("\"a\\\"b\\\\c\\u000ad\""));
}

TEST_F(TimelineTest, TheOldestEntriesGo) {
  Timeline timeline(path_, 2);
  timeline.SetPlace(TopologyOf(0, "job-a"), absl::ZeroDuration());
  for (const char* name : {"first", "second", "third"}) timeline.Add({TimelineRow::kCalls, 0, 1, 2}, name);
  ASSERT_TRUE(timeline.Write().ok());
  std::ifstream file(path_);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), AllOf(Not(HasSubstr("first")), HasSubstr("second"), HasSubstr("third")));
  // What overlaps is in lanes of its own.
  EXPECT_THAT(text.str(), HasSubstr("callbacks and custom calls (2)"));
}

TEST(TimelineFileTest, APathThatCannotBeIsAnError) {
  Timeline timeline("/no/such/directory/t.json", 2);
  Topology topology;
  topology.processes.emplace_back();
  timeline.SetPlace(topology, absl::ZeroDuration());
  timeline.Add({TimelineRow::kCalls, 0, 1, 2}, "x");
  const absl::Status written = timeline.Write();
  EXPECT_EQ(written.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(written.message()),
              HasSubstr("SHOAL_TIMELINE=/no/such/directory/t.json cannot be written: No such file"));
}

}  // namespace
}  // namespace shoal
