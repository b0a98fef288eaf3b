#include "launcher/store/tcp_store.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// For the way there and back, and for a server whose host is busy.
constexpr absl::Duration kGrace = absl::Seconds(10);
// One address of several may be of a network that swallows packets.
constexpr absl::Duration kConnect = absl::Seconds(2);
// One of these is not held up on a machine that is busy starting everybody.
constexpr int kClockReadings = 16;

absl::StatusOr<std::string> Ask(Socket& socket, StoreOp op, absl::Duration wait, absl::string_view key,
                                absl::string_view value) {
  const absl::Time deadline = absl::Now() + wait + kGrace;
  SHOAL_RETURN_IF_ERROR(
      socket.SendFrame(EncodeRequest(op, absl::ToInt64Milliseconds(wait), key, value), deadline));
  return socket.ReceiveFrame(deadline);
}

absl::StatusOr<Socket> Greet(const std::string& address, absl::string_view job, absl::Time deadline) {
  SHOAL_ASSIGN_OR_RETURN(Socket socket, Socket::Connect(address, std::min(deadline, absl::Now() + kConnect)));
  SHOAL_ASSIGN_OR_RETURN(const std::string reply,
                         Ask(socket, StoreOp::kHello, absl::ZeroDuration(), job, ""));
  if (const absl::StatusOr<std::string> answer = DecodeReply(reply); !answer.ok()) {
    return Annotate(answer.status(), address);
  }
  return socket;
}

}  // namespace

TcpStore::TcpStore(std::string address, absl::string_view job, Socket first)
    : address_(std::move(address)), job_(job) {
  idle_.push_back(std::move(first));
}

absl::StatusOr<std::unique_ptr<TcpStore>> TcpStore::Connect(const std::vector<std::string>& addresses,
                                                            absl::string_view job, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::Status last = absl::InvalidArgumentError("no address to connect to");
  do {
    for (const std::string& address : addresses) {
      absl::StatusOr<Socket> socket = Greet(address, job, deadline);
      if (socket.ok()) return std::unique_ptr<TcpStore>(new TcpStore(address, job, *std::move(socket)));
      last = socket.status();
      if (absl::IsInvalidArgument(last)) return last;
    }
    absl::SleepFor(absl::Milliseconds(50));  // process 0 may still be starting
  } while (absl::Now() < deadline);
  return absl::DeadlineExceededError(absl::StrCat("process 0 of the job does not answer at ",
                                                  absl::StrJoin(addresses, ", "), " within ",
                                                  absl::FormatDuration(timeout), ": ", last.message()));
}

absl::StatusOr<std::string> TcpStore::Call(StoreOp op, absl::string_view key, absl::string_view value,
                                           absl::Duration timeout) {
  Socket socket;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      socket = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!socket.valid()) {
    SHOAL_ASSIGN_OR_RETURN(socket, Greet(address_, job_, absl::Now() + kConnect));
  }
  const absl::StatusOr<std::string> reply = Ask(socket, op, timeout, key, value);
  if (!reply.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the job's store at process 0 is gone: ", reply.status().message()));
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(socket));
  return DecodeReply(*reply);
}

absl::Status TcpStore::Set(absl::string_view key, absl::string_view value) {
  return Call(StoreOp::kSet, key, value, absl::ZeroDuration()).status();
}

absl::StatusOr<std::string> TcpStore::Get(absl::string_view key, absl::Duration timeout) {
  return Call(StoreOp::kGet, key, "", std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24 * 365)));
}

absl::StatusOr<std::string> TcpStore::TryGet(absl::string_view key) {
  return Call(StoreOp::kTryGet, key, "", absl::ZeroDuration());
}

absl::StatusOr<absl::Duration> TcpStore::ClockLead() {
  std::vector<ClockReading> readings(kClockReadings);
  for (ClockReading& reading : readings) {
    reading.asked = absl::GetCurrentTimeNanos();
    SHOAL_ASSIGN_OR_RETURN(const std::string text, Call(StoreOp::kClock, "", "", absl::ZeroDuration()));
    reading.answered = absl::GetCurrentTimeNanos();
    if (!absl::SimpleAtoi(text, &reading.theirs)) {
      return absl::UnavailableError(absl::StrCat("process 0 says that its clock shows \"", text, "\""));
    }
  }
  return ClockLeadOf(readings);
}

absl::Duration ClockLeadOf(absl::Span<const ClockReading> readings) {
  const ClockReading& best =
      *std::min_element(readings.begin(), readings.end(), [](const ClockReading& a, const ClockReading& b) {
        return a.answered - a.asked < b.answered - b.asked;
      });
  return absl::Nanoseconds(best.theirs - best.asked - (best.answered - best.asked) / 2);
}

absl::StatusOr<std::unique_ptr<TcpStore::Session>> TcpStore::SetWhenLost(absl::string_view key,
                                                                         absl::string_view value) {
  SHOAL_ASSIGN_OR_RETURN(Socket socket, Greet(address_, job_, absl::Now() + kConnect));
  SHOAL_ASSIGN_OR_RETURN(const std::string reply,
                         Ask(socket, StoreOp::kSetWhenLost, absl::ZeroDuration(), key, value));
  SHOAL_RETURN_IF_ERROR(DecodeReply(reply).status());
  return std::make_unique<Session>(std::move(socket));
}

absl::StatusOr<std::optional<StoreEntries>> TcpStore::Session::List(absl::string_view prefix,
                                                                    absl::Duration wait) {
  const absl::Time now = absl::Now();
  if (!asked_) {
    SHOAL_RETURN_IF_ERROR(socket_.SendFrame(EncodeRequest(StoreOp::kList, 0, prefix, ""), now + kGrace));
    asked_ = true;
  }
  if (!socket_.HasArrived(now + wait)) return std::optional<StoreEntries>();
  SHOAL_ASSIGN_OR_RETURN(const std::string reply, socket_.ReceiveFrame(now + wait + kGrace));
  asked_ = false;
  SHOAL_ASSIGN_OR_RETURN(const std::string list, DecodeReply(reply));
  SHOAL_ASSIGN_OR_RETURN(StoreEntries entries, DecodeList(list));
  return std::optional<StoreEntries>(std::move(entries));
}

}  // namespace shoal
