#include "launcher/health/attendance.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"

namespace shoal {
namespace {

class HostAttendance : public Attendance {
 public:
  HostAttendance(const HostFile* file, int process_count) : file_(file), process_count_(process_count) {}

  absl::StatusOr<std::vector<Departure>> Departures() override {
    std::vector<Departure> gone;
    for (int p = 0; p < process_count_; ++p) {
      const Presence presence = file_->Look(ProcessId(p));
      if (presence == Presence::kLeft || presence == Presence::kDied) {
        gone.push_back({ProcessId(p), presence == Presence::kLeft});
      }
    }
    return gone;
  }

 private:
  const HostFile* const file_;
  const int process_count_;
};

constexpr absl::string_view kGone = "gone/";
constexpr absl::string_view kLeft = "left";
constexpr absl::string_view kDied = "died";
// How long the end of the watch may have to wait for one that asks.
constexpr absl::Duration kPatience = absl::Milliseconds(500);

class ServerAttendance : public Attendance {
 public:
  ServerAttendance(TcpStore* store, std::string key, std::unique_ptr<TcpStore::Session> session)
      : store_(store), key_(std::move(key)), session_(std::move(session)) {}
  // Keys are written once, so the goodbye keeps the last will from being told.
  ~ServerAttendance() override { store_->Set(key_, kLeft).IgnoreError(); }

  absl::StatusOr<std::vector<Departure>> Departures() override {
    std::vector<Departure> gone;
    SHOAL_ASSIGN_OR_RETURN(const auto entries, session_->List(kGone, kPatience));
    if (!entries.has_value()) return gone;
    for (const auto& [key, value] : *entries) {
      int process;
      if (absl::SimpleAtoi(absl::StripPrefix(key, kGone), &process))
        gone.push_back({ProcessId(process), value == kLeft});
    }
    return gone;
  }

 private:
  TcpStore* const store_;
  const std::string key_;
  std::unique_ptr<TcpStore::Session> session_;
};

}  // namespace

std::unique_ptr<Attendance> AttendHost(const HostFile* file, int process_count) {
  return std::make_unique<HostAttendance>(file, process_count);
}

absl::StatusOr<std::unique_ptr<Attendance>> AttendServer(TcpStore* store, ProcessId self) {
  std::string key = absl::StrCat(kGone, self.value());
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<TcpStore::Session> session, store->SetWhenLost(key, kDied));
  return std::make_unique<ServerAttendance>(store, std::move(key), std::move(session));
}

}  // namespace shoal
