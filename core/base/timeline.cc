#include "core/base/timeline.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/base/process_name.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// Some 30 MB of memory, and 80 of file.
constexpr size_t kKeep = 400'000;

// The file is kHead, the job, the origin of its times, kBody, events with kBetween between them, kTail.
constexpr absl::string_view kHead = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":\"";
constexpr absl::string_view kOrigin = "\",\"origin_ns\":\"";
constexpr absl::string_view kBody = "\"},\"traceEvents\":[\n";
constexpr absl::string_view kBetween = ",\n";
constexpr absl::string_view kTail = "\n]}\n";
constexpr size_t kLongestHead = 4096;
// Times may not be below the origin, and who writes first need not have begun first.
constexpr int64_t kEarlier = 3600 * int64_t{1'000'000'000};

// By TimelineRow.
constexpr absl::string_view kRows[] = {
#define SHOAL_TIMELINE_NAME(row, name) name,
    SHOAL_TIMELINE_ROWS(SHOAL_TIMELINE_NAME)
#undef SHOAL_TIMELINE_NAME
};

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      absl::StrAppendFormat(&quoted, "\\u%04x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string NameEvent(absl::string_view what, int pid, int tid, absl::string_view name) {
  return absl::StrCat("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", tid,
                      ",\"args\":{\"name\":", Quoted(name), "}}");
}

// Microseconds, which is the format's unit.
std::string Microseconds(int64_t ns) { return absl::StrFormat("%.3f", static_cast<double>(ns) / 1e3); }

// Gives each entry of one row of one device the first lane where nothing runs at its time: entries of one
// lane never overlap, which the format does not allow. By position in `entries`, which are sorted by start.
std::vector<int> Lanes(const std::vector<TimelineEntry>& entries) {
  std::map<std::pair<TimelineRow, int>, std::vector<int64_t>> ends;
  std::vector<int> lanes;
  for (const TimelineEntry& entry : entries) {
    std::vector<int64_t>& of_row = ends[{entry.row, entry.device}];
    const auto free =
        std::find_if(of_row.begin(), of_row.end(), [&](int64_t end) { return end <= entry.start_ns; });
    lanes.push_back(static_cast<int>(free - of_row.begin()));
    if (free == of_row.end()) {
      of_row.push_back(entry.end_ns);
    } else {
      *free = entry.end_ns;
    }
  }
  return lanes;
}

// Perfetto sorts by this number: devices in order, each with its rows in the order of kRows.
int ThreadId(const TimelineEntry& entry, int lane) {
  constexpr int kRowsOfDevice = 1000, kLanesOfRow = 100;
  return entry.device * kRowsOfDevice + static_cast<int>(entry.row) * kLanesOfRow +
         std::min(lane, kLanesOfRow - 1) + 1;
}

// A file that is locked, as others may write to it too.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    error_ = errno;
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~LockedFile() {
    if (file_ >= 0) close(file_);
  }

  // The origin of the times, if the file is of this job and whole; else -1.
  int64_t OriginIfOf(absl::string_view job) const {
    char bytes[kLongestHead];
    const ssize_t n = pread(file_, bytes, sizeof(bytes), 0);
    absl::string_view head(bytes, std::max<ssize_t>(n, 0));
    int64_t origin = -1;
    if (!absl::ConsumePrefix(&head, kHead) || !absl::ConsumePrefix(&head, job) ||
        !absl::ConsumePrefix(&head, kOrigin) || !absl::SimpleAtoi(head.substr(0, head.find('"')), &origin)) {
      return -1;
    }
    char tail[kTail.size()];
    const off_t size = lseek(file_, 0, SEEK_END);
    if (pread(file_, tail, sizeof(tail), size - static_cast<off_t>(sizeof(tail))) !=
            static_cast<ssize_t>(sizeof(tail)) ||
        absl::string_view(tail, sizeof(tail)) != kTail) {
      return -1;
    }
    return origin;
  }

  // From `at` on, which counts from the end where it is negative. Cuts what was there.
  absl::Status WriteAt(off_t at, absl::string_view bytes) {
    if (at < 0) at += lseek(file_, 0, SEEK_END);
    if (file_ >= 0 && ftruncate(file_, at) == 0) {
      while (!bytes.empty()) {
        const ssize_t n = pwrite(file_, bytes.data(), bytes.size(), at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
          error_ = errno;
          break;
        }
        bytes.remove_prefix(n);
        at += n;
      }
    }
    if (bytes.empty()) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("SHOAL_TIMELINE=", path_, " cannot be written: ", std::strerror(error_)));
  }

 private:
  const std::string path_;
  const int file_;
  int error_ = 0;
};

}  // namespace

Timeline* Timeline::FromFlag() {
  const std::string path = StringFlag("SHOAL_TIMELINE").value_or("");
  if (path.empty()) return nullptr;
  auto* timeline = new Timeline(path, kKeep);  // never destroyed: work may end while the process does
  std::atexit(WriteIfOn);
  return timeline;
}

int64_t Timeline::Now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  static const int64_t offset =
      duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count() -
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
  return offset + duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void Timeline::SetPlace(const Topology& topology, absl::Duration ahead) {
  const std::lock_guard lock(mutex_);
  topology_ = topology;
  ahead_ns_ = absl::ToInt64Nanoseconds(ahead);
}

void Timeline::Add(TimelineEntry entry, absl::string_view name) {
  const std::lock_guard lock(mutex_);
  entry.name = &*names_.emplace(name).first;
  if (entries_.size() == keep_) entries_.pop_front();
  entries_.push_back(entry);
}

std::string Timeline::Events(int64_t origin_ns) const {
  std::vector<TimelineEntry> entries(entries_.begin(), entries_.end());
  std::sort(entries.begin(), entries.end(),
            [](const TimelineEntry& a, const TimelineEntry& b) { return a.start_ns < b.start_ns; });
  const std::vector<int> lanes = Lanes(entries);
  const int pid = topology_.self.value();
  std::string events = NameEvent("process_name", pid, 0, ProcessName(topology_, topology_.self));
  std::map<int, std::string> threads;
  for (size_t i = 0; i < entries.size(); ++i) {
    const TimelineEntry& entry = entries[i];
    const int tid = ThreadId(entry, lanes[i]);
    std::string& thread = threads[tid];
    if (thread.empty()) {
      thread = absl::StrCat("device ", entry.device, ": ", kRows[static_cast<int>(entry.row)]);
      if (lanes[i] > 0) absl::StrAppend(&thread, " (", lanes[i] + 1, ")");
    }
    absl::StrAppend(&events, kBetween, "{\"ph\":\"X\",\"pid\":", pid, ",\"tid\":", tid,
                    ",\"ts\":", Microseconds(entry.start_ns + ahead_ns_ - origin_ns),
                    ",\"dur\":", Microseconds(std::max<int64_t>(entry.end_ns - entry.start_ns, 1)),
                    ",\"name\":", Quoted(*entry.name), ",\"cat\":\"", kRows[static_cast<int>(entry.row)],
                    "\",\"args\":{");
    if (entry.run >= 0) absl::StrAppend(&events, "\"run\":", entry.run, entry.bytes >= 0 ? "," : "");
    if (entry.bytes >= 0) absl::StrAppend(&events, "\"bytes\":", entry.bytes);
    absl::StrAppend(&events, "}}");
  }
  for (const auto& [tid, name] : threads) {
    absl::StrAppend(&events, kBetween, NameEvent("thread_name", pid, tid, name));
  }
  return events;
}

void Timeline::WriteIfOn() {
  if (Get() == nullptr) return;
  const absl::Status written = Get()->Write();
  if (!written.ok()) {
    SHOAL_WARN << written.message();
  }
}

absl::Status Timeline::Write() {
  const std::lock_guard lock(mutex_);
  if (topology_.processes.empty() || entries_.empty()) return absl::OkStatus();
  LockedFile file(path_);
  int64_t origin = file.OriginIfOf(topology_.job);
  if (origin >= 0) {
    SHOAL_RETURN_IF_ERROR(
        file.WriteAt(-static_cast<off_t>(kTail.size()), absl::StrCat(kBetween, Events(origin), kTail)));
  } else {
    origin = entries_.front().start_ns + ahead_ns_ - kEarlier;
    SHOAL_RETURN_IF_ERROR(
        file.WriteAt(0, absl::StrCat(kHead, topology_.job, kOrigin, origin, kBody, Events(origin), kTail)));
  }
  entries_.clear();
  return absl::OkStatus();
}

}  // namespace shoal
