#include "launcher/rendezvous/pmi_share.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// One question after another on the descriptor.
class Pmi {
 public:
  Pmi(int file, absl::Duration timeout) : file_(file), timeout_(timeout), deadline_(absl::Now() + timeout) {}

  // The answer's value of `wanted`, which may be empty for "nothing".
  absl::StatusOr<std::string> Ask(absl::string_view question, absl::string_view wanted) {
    SHOAL_RETURN_IF_ERROR(Send(absl::StrCat("cmd=", question, "\n")));
    SHOAL_ASSIGN_OR_RETURN(const std::string answer, ReceiveLine());
    std::string value;
    for (absl::string_view word : absl::StrSplit(answer, ' ', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> halves =
          absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (halves.first == "rc" && halves.second != "0") return Refused(question, answer);
      if (halves.first == wanted) value = std::string(halves.second);
    }
    if (value.empty() && !wanted.empty()) return Refused(question, answer);
    return value;
  }

 private:
  static absl::Status Refused(absl::string_view question, absl::string_view answer) {
    return absl::UnavailableError(
        absl::StrCat("the launcher answers PMI's \"", question, "\" with \"", answer, "\""));
  }

  absl::Status Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(file_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Gone();
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  // Byte by byte: what comes after the line is not ours.
  absl::StatusOr<std::string> ReceiveLine() {
    std::string line;
    while (true) {
      pollfd entry = {file_, POLLIN, 0};
      const int64_t left = absl::ToInt64Milliseconds(deadline_ - absl::Now());
      if (left < 0) {
        return absl::DeadlineExceededError(
            absl::StrCat("the launcher has not answered within ", absl::FormatDuration(timeout_),
                         " (PMI): have all processes of the job come as far?"));
      }
      const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left + 1, 1000)));
      if (ready < 0 && errno != EINTR) return Gone();
      if (ready <= 0) continue;
      char byte;
      const ssize_t n = read(file_, &byte, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Gone();
      if (byte == '\n') return line;
      line += byte;
    }
  }

  static absl::Status Gone() {
    return absl::UnavailableError(absl::StrCat("the launcher is gone (PMI): ", std::strerror(errno)));
  }

  const int file_;
  const absl::Duration timeout_;
  const absl::Time deadline_;
};

}  // namespace

absl::StatusOr<std::string> PmiShare(int file, int process, absl::string_view key, absl::string_view text,
                                     absl::Duration timeout) {
  Pmi pmi(file, timeout);
  SHOAL_RETURN_IF_ERROR(pmi.Ask("init pmi_version=1 pmi_subversion=1", "").status());
  SHOAL_ASSIGN_OR_RETURN(const std::string space, pmi.Ask("get_my_kvsname", "kvsname"));
  if (process == 0) {
    SHOAL_RETURN_IF_ERROR(
        pmi.Ask(absl::StrCat("put kvsname=", space, " key=", key, " value=", text), "").status());
  }
  SHOAL_RETURN_IF_ERROR(pmi.Ask("barrier_in", "").status());
  return pmi.Ask(absl::StrCat("get kvsname=", space, " key=", key), "value");
}

}  // namespace shoal
