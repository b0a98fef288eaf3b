// Socket: a TCP connection or listener, and the frames that the job's store sends over it.
//
// A frame is a 32-bit little-endian length and that many bytes. Every wait has a deadline. One thread at a
// time. Failures are Unavailable (the other side has closed), DeadlineExceeded (it takes too long) or Aborted
// (its host cannot be reached), and name the address.
//
// The kernels of both sides keep watch: a host that does not answer for kUnreachable ends the connection.
// They answer for a process that is stopped or gets no processor, too, so slow is not dead.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace shoal {

class Socket {
 public:
  // Three answers of a kernel that may be lost: who waits for a process of that host learns of it within five
  // seconds.
  static constexpr absl::Duration kUnreachable = absl::Seconds(3);

  Socket() = default;
  explicit Socket(int file, std::string peer = "") : file_(file), peer_(std::move(peer)) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)), peer_(std::move(other.peer_)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  // One attempt to reach HOST:PORT, or [ADDRESS]:PORT. Unavailable also where the host cannot be reached now:
  // whoever connects tries again.
  static absl::StatusOr<Socket> Connect(absl::string_view address, absl::Time deadline);
  // On all interfaces; port 0 lets the system choose. Never blocks in Accept.
  static absl::StatusOr<Socket> Listen(int port);

  absl::StatusOr<Socket> Accept();  // NotFound when nobody waits; the connection never blocks
  absl::StatusOr<int> Port() const;
  absl::Status SendFrame(absl::string_view bytes, absl::Time deadline);
  absl::StatusOr<std::string> ReceiveFrame(absl::Time deadline);
  // Whether something has come, be it the end; waits for it until `deadline`.
  bool HasArrived(absl::Time deadline) const { return Wait(POLLIN, deadline).ok(); }

  bool valid() const { return file_ >= 0; }
  int file() const { return file_; }
  void Close();

 private:
  void KeepWatch() const;
  absl::Status Wait(short events, absl::Time deadline) const;
  absl::Status Receive(char* bytes, size_t count, absl::Time deadline);

  int file_ = -1;
  std::string peer_;  // for messages
};

inline constexpr size_t kFrameHead = sizeof(uint32_t);
// Larger frames are somebody else's bytes: the largest value is a compiled program.
inline constexpr uint32_t kLargestFrame = 1u << 30;
uint32_t FrameSize(const char* head);
void AppendFrame(absl::string_view bytes, std::string* out);

// The port of HOST:PORT; InvalidArgument where there is none.
absl::StatusOr<int> PortOf(absl::string_view address);
// Whether HOST of HOST:PORT is known here, as one of this machine's own addresses.
bool IsAddressHere(absl::string_view address);
// This machine's addresses with `port`, as Connect takes them, the likeliest to be reached from outside
// first.
std::vector<std::string> LocalAddresses(int port);

}  // namespace shoal
