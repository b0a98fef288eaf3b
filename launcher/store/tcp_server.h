// TcpServer: the job's store where no other is given and processes are on several hosts: process 0 runs it,
// everybody's TcpStore speaks to it (store_wire.h).
//
// One thread polls all connections; no request blocks it, and who sends on without reading its answers is not
// read from meanwhile. A connection may leave a last will (kSetWhenLost): once it has ended, that key is set,
// which is how the death of a process or (Socket::kUnreachable) of its host is told. Destruction waits until
// all connections are closed, at most `linger`, then cuts the rest: the others may have something to ask
// still when process 0 has nothing more to do.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/store/socket.h"
#include "launcher/store/store_wire.h"

namespace shoal {

class TcpServer {
 public:
  // Only connections that greet with `job` are served. Port 0: the system chooses.
  static absl::StatusOr<std::unique_ptr<TcpServer>> Start(absl::string_view job, int port,
                                                          absl::Duration linger = absl::Seconds(2));
  ~TcpServer();

  int port() const { return port_; }

 private:
  struct Connection {
    Socket socket;
    bool greeted = false;
    bool closed = false;
    std::string in;
    std::string out;
    std::string will_key;  // empty: none
    std::string will_value;
    std::string waits_for;  // the key of a kGet that has not been answered; empty: none
    absl::Time wait_deadline;
    absl::Duration wait_timeout;
  };

  TcpServer(std::string job, Socket listener, int port, absl::Duration linger);
  void Run();
  absl::Time NextDeadline(absl::Time now) const;
  void WaitForEvents(absl::Time until);
  void Read(Connection& connection);
  void TakeRequests(Connection& connection);
  void Write(Connection& connection);
  void Handle(Connection& connection, const StoreRequest& request);
  absl::StatusOr<std::string> Answer(Connection& connection, const StoreRequest& request);
  bool AnswerWaiting(absl::Time now);  // false if there was nothing to answer
  void Bury();                         // the closed ones, and their wills
  static void Reply(Connection& connection, const absl::StatusOr<std::string>& reply);

  const std::string job_;
  const int port_;
  const absl::Duration linger_;
  Socket listener_;
  int wake_[2] = {-1, -1};  // a pipe: written once to end the thread
  std::atomic<bool> ending_{false};

  // Of the thread alone.
  std::map<std::string, std::string> values_;
  std::vector<std::unique_ptr<Connection>> connections_;

  std::thread thread_;
};

}  // namespace shoal
