#include "launcher/store/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr size_t kFirstPiece = 1 << 20;

absl::Status Gone(absl::string_view peer, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(peer, ": ", why));
}

absl::Status SocketError(absl::string_view peer, int error) {
  const bool unreachable = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  const absl::Status status = Gone(peer, std::strerror(error));
  return unreachable ? absl::AbortedError(status.message()) : status;
}

struct HostPort {
  std::string host;
  std::string port;
};

absl::StatusOr<HostPort> SplitAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is not HOST:PORT"));
  }
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return HostPort{std::string(host), std::to_string(port)};
}

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// What getaddrinfo says, or 0 and the addresses.
int Resolve(const HostPort& parts, AddressList* list) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (error == 0) list->reset(found);
  return error;
}

int OpenSocket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(peer_, other.peer_);
  return *this;
}

void Socket::KeepWatch() const {
  const int on = 1;
  const int pause = static_cast<int>(absl::ToInt64Seconds(Socket::kUnreachable)) / 3;
  const unsigned limit = static_cast<unsigned>(absl::ToInt64Milliseconds(Socket::kUnreachable));
  setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(file_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(file_, IPPROTO_TCP, TCP_KEEPIDLE, &pause, sizeof(pause));
  setsockopt(file_, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof(pause));
  setsockopt(file_, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
}

void Socket::Close() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

absl::StatusOr<Socket> Socket::Connect(absl::string_view address, absl::Time deadline) {
  SHOAL_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
  AddressList list(nullptr, freeaddrinfo);
  if (const int error = Resolve(parts, &list); error != 0) return Gone(address, gai_strerror(error));
  absl::Status last = Gone(address, "no address");
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    Socket s(OpenSocket(entry->ai_family), std::string(address));
    if (!s.valid()) {
      if (errno != EAFNOSUPPORT) last = Gone(address, std::strerror(errno));
      continue;
    }
    if (connect(s.file_, entry->ai_addr, entry->ai_addrlen) != 0 && errno != EINPROGRESS) {
      last = Gone(address, std::strerror(errno));
      continue;
    }
    last = s.Wait(POLLOUT, deadline);
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(s.file_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) last = Gone(address, std::strerror(error));
    if (!last.ok()) continue;
    s.KeepWatch();
    return s;
  }
  return last;
}

absl::StatusOr<Socket> Socket::Listen(int port) {
  // An IPv6 listener takes IPv4 as well; a machine without IPv6 has only the second.
  for (const int family : {AF_INET6, AF_INET}) {
    Socket s(OpenSocket(family), absl::StrCat("port ", port));
    if (!s.valid()) continue;
    const int on = 1;
    const int off = 0;
    setsockopt(s.file_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in6 any6 = {};
    sockaddr_in any4 = {};
    any6.sin6_family = AF_INET6;
    any4.sin_family = AF_INET;
    any6.sin6_port = any4.sin_port = htons(port);
    if (family == AF_INET6) setsockopt(s.file_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    const sockaddr* any =
        family == AF_INET6 ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4);
    const socklen_t size = family == AF_INET6 ? sizeof(any6) : sizeof(any4);
    if (bind(s.file_, any, size) == 0 && listen(s.file_, SOMAXCONN) == 0) return s;
    if (errno == EADDRINUSE) break;
  }
  return absl::UnavailableError(absl::StrCat("cannot listen on port ", port, ": ", std::strerror(errno)));
}

absl::StatusOr<Socket> Socket::Accept() {
  const int file = accept4(file_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (file < 0) return absl::NotFoundError("nobody connects");
  Socket socket(file);
  socket.KeepWatch();
  return socket;
}

absl::StatusOr<int> Socket::Port() const {
  sockaddr_in6 address = {};  // the port has the same place in IPv4's
  socklen_t size = sizeof(address);
  if (getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Gone(peer_, std::strerror(errno));
  return ntohs(address.sin6_port);
}

absl::Status Socket::Wait(short events, absl::Time deadline) const {
  while (true) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration())
      return absl::DeadlineExceededError(absl::StrCat(peer_, " does not answer"));
    pollfd entry = {file_, events, 0};
    const int64_t milliseconds = std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, 3600 * 1000);
    if (poll(&entry, 1, static_cast<int>(milliseconds)) > 0) return absl::OkStatus();
  }
}

absl::Status Socket::SendFrame(absl::string_view bytes, absl::Time deadline) {
  std::string frame;
  AppendFrame(bytes, &frame);
  absl::string_view left = frame;
  while (!left.empty()) {
    const ssize_t n = send(file_, left.data(), left.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      left.remove_prefix(n);
    } else if (errno == EAGAIN) {
      SHOAL_RETURN_IF_ERROR(Wait(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return SocketError(peer_, errno);
    }
  }
  return absl::OkStatus();
}

absl::Status Socket::Receive(char* bytes, size_t count, absl::Time deadline) {
  while (count > 0) {
    const ssize_t n = recv(file_, bytes, count, 0);
    if (n == 0) return Gone(peer_, "closed the connection");
    if (n > 0) {
      bytes += n;
      count -= n;
    } else if (errno == EAGAIN) {
      SHOAL_RETURN_IF_ERROR(Wait(POLLIN, deadline));
    } else if (errno != EINTR) {
      return SocketError(peer_, errno);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Socket::ReceiveFrame(absl::Time deadline) {
  char head[kFrameHead];
  SHOAL_RETURN_IF_ERROR(Receive(head, sizeof(head), deadline));
  const uint32_t size = FrameSize(head);
  if (size > kLargestFrame) return Gone(peer_, "speaks another protocol");
  // Memory is taken as the bytes come: what a stranger sends may only look like a size.
  std::string bytes;
  while (bytes.size() < size) {
    const size_t done = bytes.size();
    bytes.resize(std::min<size_t>(size, done + std::max(done, kFirstPiece)));
    SHOAL_RETURN_IF_ERROR(Receive(bytes.data() + done, bytes.size() - done, deadline));
  }
  return bytes;
}

// Both ends are little-endian, as every machine that LLVM's CPU back ends and this plugin support in a
// cluster is.
uint32_t FrameSize(const char* head) {
  uint32_t size;
  std::memcpy(&size, head, sizeof(size));
  return size;
}

void AppendFrame(absl::string_view bytes, std::string* out) {
  const uint32_t size = static_cast<uint32_t>(bytes.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  out->append(bytes.data(), bytes.size());
}

absl::StatusOr<int> PortOf(absl::string_view address) {
  SHOAL_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
  return std::stoi(parts.port);
}

bool IsAddressHere(absl::string_view address) {
  absl::StatusOr<HostPort> parts = SplitAddress(address);
  if (!parts.ok()) return false;
  parts->port = "0";  // the system chooses
  AddressList list(nullptr, freeaddrinfo);
  if (Resolve(*parts, &list) != 0) return false;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    const Socket s(OpenSocket(entry->ai_family));
    if (s.valid() && bind(s.file(), entry->ai_addr, entry->ai_addrlen) == 0) return true;
  }
  return false;
}

std::vector<std::string> LocalAddresses(int port) {
  std::vector<std::string> outside;
  std::vector<std::string> loopback;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {absl::StrCat("127.0.0.1:", port)};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(found, freeifaddrs);
  for (const ifaddrs* entry = found; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || !(entry->ifa_flags & IFF_UP))
      continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof(text));
    (entry->ifa_flags & IFF_LOOPBACK ? loopback : outside).push_back(absl::StrCat(text, ":", port));
  }
  outside.insert(outside.end(), loopback.begin(), loopback.end());
  return outside;
}

}  // namespace shoal
