#include "collectives/engine/flight_recorder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/base/process_name.h"
#include "core/base/timeline.h"

namespace shoal {
namespace {

// A few steps of a training program.
constexpr size_t kEntries = 128;

}  // namespace

FlightRecorder::FlightRecorder(const Topology& topology)
    : topology_(topology), entries_(kEntries), heard_(topology.process_count()) {}

void FlightRecorder::Started(const Announcement& announcement, absl::Time now) {
  Entry& entry = entries_[started_++ % kEntries];
  entry.key = announcement.key;
  entry.name = announcement.name;
  entry.start = now;
  entry.end = absl::InfiniteFuture();
  entry.status = absl::OkStatus();
}

void FlightRecorder::Ended(const CollectiveKey& key, const absl::Status& status, absl::Time now) {
  // Most end soon after their start.
  for (uint64_t i = started_; i > 0 && started_ - i < kEntries; --i) {
    Entry& entry = entries_[(i - 1) % kEntries];
    if (!(entry.key == key)) continue;
    entry.end = now;
    entry.status = status;
    if (Timeline* const timeline = Timeline::Get()) {
      const int device = topology_.process(topology_.self).first_device.value();
      timeline->Add({TimelineRow::kExchanges, device, absl::ToUnixNanos(entry.start), absl::ToUnixNanos(now),
                     key.run.id},
                    entry.name);
    }
    return;
  }
}

void FlightRecorder::Heard(ProcessId from, const Announcement& announcement, absl::Time now) {
  Word& word = heard_[from.value()];
  word.run = announcement.key.run.id;
  word.name = announcement.name;
  word.time = now;
}

std::string FlightRecorder::LastHeard(ProcessId process, absl::Time now) const {
  const Word& word = heard_[process.value()];
  if (word.name.empty()) return "has not been heard of in any collective";
  return absl::StrCat("was last heard of ",
                      absl::FormatDuration(absl::Floor(now - word.time, absl::Milliseconds(1))), " ago, at '",
                      word.name, "' of run ", word.run);
}

std::string FlightRecorder::LastOwn(absl::Time now) const {
  if (started_ == 0) return "it has been in none yet";
  const Entry& entry = entries_[(started_ - 1) % kEntries];
  return absl::StrCat("its last one was '", entry.name, "' of run ", entry.key.run.id, ", which ended ",
                      absl::FormatDuration(absl::Floor(now - entry.end, absl::Milliseconds(1))), " ago");
}

std::string FlightRecorder::ToString(absl::Time now) const {
  const auto ago = [now](absl::Time time) {
    return absl::StrCat(absl::FormatDuration(absl::Floor(now - time, absl::Microseconds(1))), " ago");
  };
  std::string text;
  for (uint64_t i = started_ - std::min<uint64_t>(started_, kEntries); i < started_; ++i) {
    const Entry& entry = entries_[i % kEntries];
    absl::StrAppend(&text, "run ", entry.key.run.id, " collective ", entry.key.number, " instance ",
                    entry.key.instance, " group ", entry.key.group, " '", entry.name, "' started ",
                    ago(entry.start));
    if (entry.end == absl::InfiniteFuture()) {
      absl::StrAppend(&text, ", under way\n");
    } else {
      absl::StrAppend(&text, ", ended ", ago(entry.end), ": ", entry.status.ToString(), "\n");
    }
  }
  for (int p = 0; p < topology_.process_count(); ++p) {
    if (ProcessId(p) == topology_.self) continue;
    absl::StrAppend(&text, ProcessName(topology_, ProcessId(p)), " ", LastHeard(ProcessId(p), now), "\n");
  }
  return text;
}

void FlightRecorder::Write(const absl::Status& why) const {
  const absl::StatusOr<std::string> directory = StringFlag("SHOAL_DUMP");
  if (!directory.ok() || directory->empty()) return;
  std::error_code error;
  std::filesystem::create_directories(*directory, error);
  const std::string path = absl::StrCat(*directory, "/collectives.", topology_.self.value(), ".txt");
  std::ofstream file(path);
  file << why << "\n" << ToString(absl::Now());
  if (!file) {
    SHOAL_WARN << "SHOAL_DUMP: cannot write " << path;
  }
}

}  // namespace shoal
