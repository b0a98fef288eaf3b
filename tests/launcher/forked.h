// Forked: a child process that runs a function, for tests of what happens between processes. The parent must
// have one thread when it forks.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

namespace shoal {

class Forked {
 public:
  // The child prints nothing; what `body` returns is its Result.
  explicit Forked(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      const std::string result = body();
      (void)!write(ends[1], result.data(), result.size());
      _exit(0);
    }
    close(ends[1]);
    result_ = ends[0];
  }
  Forked(Forked&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), result_(std::exchange(other.result_, -1)) {}
  ~Forked() {
    if (pid_ <= 0) return;
    Kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(result_);
  }

  pid_t pid() const { return pid_; }
  void Kill(int signal) { kill(pid_, signal); }
  // Waits for the child to end; empty if it was killed before.
  std::string Result() {
    std::string text;
    char bytes[4096];
    for (ssize_t n; (n = read(result_, bytes, sizeof(bytes))) > 0;) text.append(bytes, n);
    return text;
  }

 private:
  pid_t pid_ = -1;
  int result_ = -1;
};

}  // namespace shoal
