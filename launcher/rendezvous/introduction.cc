#include "launcher/rendezvous/introduction.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/process_name.h"
#include "core/base/status.h"
#include "launcher/rendezvous/host_identity.h"

namespace shoal {
namespace {

constexpr absl::string_view kTopologyKey = "topology";
// The others wait longer than process 0, so that they hear why it gave up.
constexpr absl::Duration kHearWhy = absl::Seconds(3);

std::string KeyOf(int process) { return absl::StrCat("process/", process); }

// One line a process: identity, name, pid, devices, count, with tabs between.
std::string Encode(const Introduction& it) {
  return absl::StrJoin({it.host_identity, it.host_name, absl::StrCat(it.pid), absl::StrCat(it.num_devices),
                        absl::StrCat(it.process_count)},
                       "\t");
}

absl::StatusOr<Introduction> Decode(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, '\t');
  Introduction it;
  if (fields.size() != 5 || !absl::SimpleAtoi(fields[2], &it.pid) ||
      !absl::SimpleAtoi(fields[3], &it.num_devices) || !absl::SimpleAtoi(fields[4], &it.process_count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", line, "\" is no introduction of a process: do all run the same version of Shoal?"));
  }
  it.host_identity = fields[0];
  it.host_name = fields[1];
  return it;
}

// A name that no other job on these hosts has at this time, nor had lately: what a dead job left must not be
// taken for ours.
std::string NewJobName() {
  std::random_device random;
  return absl::StrCat("job-", getpid(), "-", absl::Hex(random(), absl::kZeroPad8));
}

// Of processes that are missing; an error is read by people.
constexpr int kMostNamed = 16;

absl::Status Missing(KeyValueStore& store, int process_count, absl::Duration timeout) {
  std::vector<int> named;
  int missing = 0;
  for (int p = 0; p < process_count; ++p) {
    if (store.TryGet(KeyOf(p)).ok()) continue;
    if (++missing <= kMostNamed) named.push_back(p);
  }
  const std::string others =
      missing > kMostNamed ? absl::StrCat(" and ", missing - kMostNamed, " others") : "";
  return absl::DeadlineExceededError(
      absl::StrCat(missing == 1 ? "process " : "processes ", absl::StrJoin(named, ", "), others, " of ",
                   process_count, " did not join the job within ", absl::FormatDuration(timeout),
                   ": start all of them, and look for an earlier error of those that are missing"));
}

// What process 0 publishes: the job's name and a line for everyone, or "error", the code and the message.
std::string EncodeAll(absl::string_view job, const std::vector<Introduction>& everyone) {
  std::string text(job);
  for (const Introduction& it : everyone) absl::StrAppend(&text, "\n", Encode(it));
  return text;
}

std::string EncodeFailure(const absl::Status& why) {
  return absl::StrCat("error\n", static_cast<int>(why.code()), "\n", why.message());
}

absl::StatusOr<Topology> DecodeAll(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines[0] == "error") {
    lines = absl::StrSplit(text, absl::MaxSplits('\n', 2));
    int code = 0;
    if (lines.size() < 3 || !absl::SimpleAtoi(lines[1], &code) || code == 0)
      return absl::UnavailableError("process 0 failed to join");
    return absl::Status(static_cast<absl::StatusCode>(code), absl::StrCat(lines[2], " (process 0 says)"));
  }
  std::vector<Introduction> everyone;
  for (size_t i = 1; i < lines.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Introduction it, Decode(lines[i]));
    everyone.push_back(std::move(it));
  }
  return Arrange(everyone, lines[0]);
}

absl::StatusOr<std::vector<Introduction>> Collect(KeyValueStore& store, int process_count,
                                                  absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  std::vector<Introduction> everyone;
  for (int p = 0; p < process_count; ++p) {
    const absl::StatusOr<std::string> line =
        store.Get(KeyOf(p), std::max(deadline - absl::Now(), absl::ZeroDuration()));
    if (absl::IsDeadlineExceeded(line.status())) return Missing(store, process_count, timeout);
    if (!line.ok()) return line.status();
    SHOAL_ASSIGN_OR_RETURN(Introduction it, Decode(*line));
    // At once: with fewer processes than process 0 believes in, the missing ones would never come.
    if (it.process_count != process_count) {
      return absl::InvalidArgumentError(absl::StrCat(ProcessName(ProcessId(p), it.host_name, it.pid),
                                                     " says that the job has ", it.process_count,
                                                     " processes, process 0 says ", process_count));
    }
    everyone.push_back(std::move(it));
  }
  return everyone;
}

absl::StatusOr<Topology> Lead(KeyValueStore& store, int process_count, absl::Duration timeout) {
  const absl::StatusOr<std::vector<Introduction>> everyone = Collect(store, process_count, timeout);
  const std::string job = NewJobName();
  absl::StatusOr<Topology> topology = everyone.ok() ? Arrange(*everyone, job) : everyone.status();
  SHOAL_RETURN_IF_ERROR(
      store.Set(kTopologyKey, topology.ok() ? EncodeAll(job, *everyone) : EncodeFailure(topology.status())));
  return topology;
}

}  // namespace

Introduction Introduction::OfThisProcess(int num_devices, int process_count) {
  return {HostIdentity(), HostName(), getpid(), num_devices, process_count};
}

absl::StatusOr<Topology> Arrange(const std::vector<Introduction>& everyone, absl::string_view job) {
  Topology topology;
  topology.job = std::string(job);
  std::vector<std::string> hosts;
  int first_device = 0;
  for (size_t p = 0; p < everyone.size(); ++p) {
    const Introduction& it = everyone[p];
    if (it.num_devices < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("process ", p, " has ", it.num_devices, " devices; at least 1 is needed"));
    }
    const auto host = std::find(hosts.begin(), hosts.end(), it.host_identity);
    ProcessInfo& info = topology.processes.emplace_back();
    info.host = HostId(static_cast<int32_t>(host - hosts.begin()));
    if (host == hosts.end()) hosts.push_back(it.host_identity);
    info.host_name = it.host_name;
    info.pid = it.pid;
    info.num_devices = it.num_devices;
    info.first_device = DeviceId(first_device);
    first_device += it.num_devices;
  }
  return topology;
}

absl::StatusOr<Topology> Introduce(KeyValueStore& store, ProcessId self, const Introduction& mine,
                                   absl::Duration timeout) {
  const absl::Status introduced = store.Set(KeyOf(self.value()), Encode(mine));
  if (absl::IsAlreadyExists(introduced)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "process ", self.value(), " of the job has joined already: were two started with this number?"));
  }
  SHOAL_RETURN_IF_ERROR(introduced);
  absl::StatusOr<Topology> topology;
  if (self == ProcessId(0)) {
    topology = Lead(store, mine.process_count, timeout);
  } else {
    const absl::StatusOr<std::string> text = store.Get(kTopologyKey, timeout + kHearWhy);
    if (absl::IsDeadlineExceeded(text.status())) return Missing(store, mine.process_count, timeout);
    if (!text.ok()) return text.status();
    topology = DecodeAll(*text);
  }
  if (!topology.ok()) return topology;
  // A store that process 0 says is of three processes may hold a fourth, if that believed in four.
  if (topology->process_count() <= self.value() || topology->process_count() != mine.process_count) {
    return absl::InvalidArgumentError(absl::StrCat("process ", self.value(), " says that the job has ",
                                                   mine.process_count, " processes, process 0 says ",
                                                   topology->process_count()));
  }
  topology->self = self;
  return topology;
}

}  // namespace shoal
