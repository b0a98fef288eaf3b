#include "launcher/store/tcp_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "launcher/store/store_errors.h"

namespace shoal {
namespace {

// Of one connection, before it is the others' turn.
constexpr int64_t kTurnBytes = 16 << 20;
// What begins with more than a job's name is no process of it.
constexpr uint32_t kLargestGreeting = 1 << 16;

}  // namespace

absl::StatusOr<std::unique_ptr<TcpServer>> TcpServer::Start(absl::string_view job, int port,
                                                            absl::Duration linger) {
  SHOAL_ASSIGN_OR_RETURN(Socket listener, Socket::Listen(port));
  SHOAL_ASSIGN_OR_RETURN(const int real_port, listener.Port());
  return std::unique_ptr<TcpServer>(new TcpServer(std::string(job), std::move(listener), real_port, linger));
}

TcpServer::TcpServer(std::string job, Socket listener, int port, absl::Duration linger)
    : job_(std::move(job)), port_(port), linger_(linger), listener_(std::move(listener)) {
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) wake_[0] = wake_[1] = -1;
  thread_ = std::thread([this] { Run(); });
}

TcpServer::~TcpServer() {
  ending_ = true;
  if (wake_[1] >= 0) (void)!write(wake_[1], "", 1);
  thread_.join();
  for (const int end : wake_) {
    if (end >= 0) close(end);
  }
}

void TcpServer::Run() {
  absl::Time end = absl::InfiniteFuture();
  while (true) {
    const absl::Time now = absl::Now();
    if (ending_ && end == absl::InfiniteFuture()) end = now + linger_;
    if (ending_ && (connections_.empty() || now >= end)) return;
    WaitForEvents(std::min(end, NextDeadline(now)));
    // What is asked after an answer may be what another waits for.
    while (AnswerWaiting(absl::Now())) continue;
    Bury();
  }
}

absl::Time TcpServer::NextDeadline(absl::Time now) const {
  absl::Time next = now + absl::Hours(1);
  for (const auto& connection : connections_) {
    if (!connection->waits_for.empty()) next = std::min(next, connection->wait_deadline);
  }
  return next;
}

void TcpServer::WaitForEvents(absl::Time until) {
  std::vector<pollfd> entries = {{listener_.file(), POLLIN, 0}, {wake_[0], POLLIN, 0}};
  for (const auto& connection : connections_) {
    entries.push_back(
        {connection->socket.file(), static_cast<short>(connection->out.empty() ? POLLIN : POLLOUT), 0});
  }
  const int64_t milliseconds = std::max<int64_t>(0, absl::ToInt64Milliseconds(until - absl::Now()) + 1);
  if (poll(entries.data(), entries.size(), static_cast<int>(milliseconds)) <= 0) return;
  if (entries[1].revents != 0) {
    char byte;
    (void)!read(wake_[0], &byte, 1);
  }
  const size_t old = connections_.size();
  for (size_t i = 0; i < old; ++i) {
    if (entries[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) Read(*connections_[i]);
    if (!connections_[i]->out.empty()) Write(*connections_[i]);
    TakeRequests(*connections_[i]);
  }
  if (entries[0].revents == 0) return;
  while (true) {
    absl::StatusOr<Socket> socket = listener_.Accept();
    if (!socket.ok()) return;
    auto connection = std::make_unique<Connection>();
    connection->socket = *std::move(socket);
    connections_.push_back(std::move(connection));
  }
}

void TcpServer::Read(Connection& connection) {
  char bytes[1 << 16];
  for (int64_t turn = 0; turn < kTurnBytes && !connection.closed;) {
    const ssize_t n = recv(connection.socket.file(), bytes, sizeof(bytes), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      connection.closed = true;
      return;
    }
    turn += n;
    connection.in.append(bytes, n);
    TakeRequests(connection);
  }
}

// One after another: what comes before the last one has been answered waits.
void TcpServer::TakeRequests(Connection& connection) {
  size_t taken = 0;
  while (connection.waits_for.empty() && connection.out.empty() && !connection.closed) {
    const absl::string_view rest = absl::string_view(connection.in).substr(taken);
    if (rest.size() < kFrameHead) break;
    const uint32_t size = FrameSize(rest.data());
    const uint32_t largest = connection.greeted ? kLargestFrame : kLargestGreeting;
    if (size <= largest && rest.size() - kFrameHead < size) break;
    const absl::StatusOr<StoreRequest> request = DecodeRequest(rest.substr(kFrameHead, size));
    connection.closed = size > largest || !request.ok();
    if (connection.closed) return;
    taken += kFrameHead + size;
    Handle(connection, *request);
  }
  connection.in.erase(0, taken);
  if (connection.in.size() > kFrameHead + kLargestFrame) connection.closed = true;
}

void TcpServer::Write(Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t n =
        send(connection.socket.file(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {
      connection.closed = true;
      return;
    }
    connection.out.erase(0, n);
  }
}

void TcpServer::Reply(Connection& connection, const absl::StatusOr<std::string>& reply) {
  AppendFrame(EncodeReply(reply), &connection.out);
}

void TcpServer::Handle(Connection& connection, const StoreRequest& request) {
  if (connection.greeted && request.op == StoreOp::kGet && values_.find(request.key) == values_.end()) {
    connection.waits_for = request.key;
    connection.wait_timeout = absl::Milliseconds(request.timeout_ms);
    connection.wait_deadline = absl::Now() + connection.wait_timeout;
    return;
  }
  Reply(connection, Answer(connection, request));
  Write(connection);
}

absl::StatusOr<std::string> TcpServer::Answer(Connection& connection, const StoreRequest& request) {
  if (request.op == StoreOp::kHello) {
    if (request.key != job_) {
      return absl::FailedPreconditionError(
          absl::StrCat("this port serves job ", job_, ", not ", request.key));
    }
    connection.greeted = true;
    return std::string();
  }
  if (!connection.greeted) return absl::FailedPreconditionError("a connection begins with the job's name");
  switch (request.op) {
    case StoreOp::kSet:
      if (!values_.emplace(request.key, request.value).second) return KeyExists(request.key);
      return std::string();
    case StoreOp::kGet:
    case StoreOp::kTryGet: {
      const auto found = values_.find(request.key);
      if (found == values_.end()) return KeyNotFound(request.key);
      return found->second;
    }
    case StoreOp::kSetWhenLost:
      connection.will_key = request.key;
      connection.will_value = request.value;
      return std::string();
    case StoreOp::kList: {
      StoreEntries entries;
      for (auto it = values_.lower_bound(request.key);
           it != values_.end() && absl::StartsWith(it->first, request.key); ++it) {
        entries.emplace_back(*it);
      }
      return EncodeList(entries);
    }
    case StoreOp::kClock:
      return absl::StrCat(absl::GetCurrentTimeNanos());
    case StoreOp::kHello:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("no such request: ", static_cast<int>(request.op)));
}

bool TcpServer::AnswerWaiting(absl::Time now) {
  bool answered = false;
  for (const auto& connection : connections_) {
    if (connection->waits_for.empty()) continue;
    const auto found = values_.find(connection->waits_for);
    if (found != values_.end()) {
      Reply(*connection, found->second);
    } else if (now >= connection->wait_deadline) {
      Reply(*connection, KeyNotInTime(connection->waits_for, connection->wait_timeout));
    } else {
      continue;
    }
    connection->waits_for.clear();
    answered = true;
    Write(*connection);
    TakeRequests(*connection);
  }
  return answered;
}

void TcpServer::Bury() {
  for (const auto& connection : connections_) {
    if (connection->closed && !connection->will_key.empty())
      values_.emplace(connection->will_key, connection->will_value);
  }
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                    [](const auto& connection) { return connection->closed; }),
                     connections_.end());
}

}  // namespace shoal
