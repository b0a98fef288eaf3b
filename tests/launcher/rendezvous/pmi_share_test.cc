// Against a launcher that answers as MPICH 5.0.2's does.
#include "launcher/rendezvous/pmi_share.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reads a line for each of `answers`, and gives that; keeps what it has read.
class Launcher {
 public:
  explicit Launcher(std::vector<std::string> answers) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        std::string line;
        for (char byte; read(ends_[1], &byte, 1) == 1 && byte != '\n';) line += byte;
        heard_.push_back(line);
        EXPECT_EQ(write(ends_[1], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      }
    });
  }
  ~Launcher() {
    if (thread_.joinable()) thread_.join();
    close(ends_[0]);
    close(ends_[1]);
  }
  int file() const { return ends_[0]; }
  std::vector<std::string> Heard() {
    thread_.join();
    return heard_;
  }

 private:
  int ends_[2];
  std::vector<std::string> heard_;
  std::thread thread_;
};

constexpr char kInit[] = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n";
constexpr char kSpace[] = "cmd=my_kvsname rc=0 kvsname=kvs_8234_0_1311127251_vm\n";

TEST(PmiShareTest, Process0Puts) {
  Launcher launcher({kInit, kSpace, "cmd=put_result rc=0\n", "cmd=barrier_out tag=0\n",
                     "cmd=get_result rc=0 value=10.0.0.1:99,10.1.0.1:99\n"});
  const auto text = PmiShare(launcher.file(), 0, "shoal-0", "10.0.0.1:99,10.1.0.1:99", absl::Seconds(20));
  EXPECT_EQ(text.value(), "10.0.0.1:99,10.1.0.1:99");
  EXPECT_THAT(
      launcher.Heard(),
      ElementsAre("cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                  "cmd=put kvsname=kvs_8234_0_1311127251_vm key=shoal-0 value=10.0.0.1:99,10.1.0.1:99",
                  "cmd=barrier_in", "cmd=get kvsname=kvs_8234_0_1311127251_vm key=shoal-0"));
}

TEST(PmiShareTest, OthersGet) {
  Launcher launcher({kInit, kSpace, "cmd=barrier_out tag=0\n", "cmd=get_result rc=0 value=here:1\n"});
  EXPECT_EQ(PmiShare(launcher.file(), 3, "shoal-0", "", absl::Seconds(20)).value(), "here:1");
}

TEST(PmiShareTest, RefusalsAndSilenceAreErrors) {
  Launcher refuses({kInit, kSpace, "cmd=barrier_out\n", "cmd=get_result rc=-1 msg=key_not_found\n"});
  const auto refused = PmiShare(refuses.file(), 3, "shoal-0", "", absl::Seconds(20));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("rc=-1 msg=key_not_found"));
  Launcher waits({kInit, kSpace});
  const auto late = PmiShare(waits.file(), 3, "shoal-0", "", absl::Milliseconds(200));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(PmiShare(-1, 3, "shoal-0", "", absl::Seconds(1)).status().message()),
              HasSubstr("the launcher is gone (PMI): Bad file descriptor"));
}

}  // namespace
}  // namespace shoal
