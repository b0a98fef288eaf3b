#include "launcher/store/process_claim.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace shoal {

ProcessClaim::~ProcessClaim() {
  if (socket_ >= 0) close(socket_);
}

pid_t ProcessClaim::Claim(absl::string_view job, ProcessId process) {
  const std::string name =
      absl::StrCat(absl::string_view("\0", 1), "shoal/", getuid(), "/", process.value(), "/", job);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_ >= 0 || name.size() > sizeof(address.sun_path)) return 0;
  std::copy(name.begin(), name.end(), address.sun_path);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const auto* const named = reinterpret_cast<const sockaddr*>(&address);

  const int mine = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (mine < 0) return 0;
  if (bind(mine, named, length) == 0 && listen(mine, SOMAXCONN) == 0) {
    socket_ = mine;
    return 0;
  }
  // Whoever listens there: the kernel noted who it was when it began to.
  ucred other = {};
  socklen_t ucred_size = sizeof(other);
  const bool connected = connect(mine, named, length) == 0;
  // So many have asked that nobody can any more: the name is taken, if not who has it is known.
  const bool full = !connected && errno == EAGAIN;
  if (!connected || getsockopt(mine, SOL_SOCKET, SO_PEERCRED, &other, &ucred_size) != 0) {
    other.pid = 0;
  }
  close(mine);
  if (full) return kUnknown;
  return other.pid > 0 && other.pid != getpid() && kill(other.pid, 0) == 0 ? other.pid : 0;
}

}  // namespace shoal
