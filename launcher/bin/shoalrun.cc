// shoalrun -n N [--devices K] [--label] command...: starts N processes of a job on this host, without MPI.
//
// Sets the plain variables of launcher/cluster, passes signals on, and ends with the exit code of the process
// that failed first. The others get a grace period then, to say for themselves what they miss, before they
// are ended.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace {

constexpr char kHelp[] =
    "usage: shoalrun -n N [--devices K] [--label] [--grace SECONDS] command [argument...]\n"
    "\n"
    "Starts N processes of one Shoal job on this host, for example\n"
    "    shoalrun -n 4 --devices 2 python train.py\n"
    "\n"
    "  -n N             how many processes\n"
    "  --devices K      local devices of each (SHOAL_NUM_DEVICES)\n"
    "  --label          begin each line of output with the process's number\n"
    "  --grace SECONDS  after one process fails, how long the others may go on before they are ended "
    "(default 5)\n"
    "\n"
    "JAX_PLATFORMS becomes shoal where it is not set. The exit code is that of the process that failed "
    "first.\n";

struct Arguments {
  int processes = 0;
  int devices = 0;  // 0: as the environment says
  bool label = false;
  double grace = 5;
  std::vector<char*> command;  // ends with a null pointer
};

struct Child {
  pid_t pid = -1;
  int output = -1;  // of a labelled process: the end of its pipe
  std::string line;
  bool running = true;
};

[[noreturn]] void Refuse(const std::string& why) {
  std::fprintf(stderr, "shoalrun: %s\n\n%s", why.c_str(), kHelp);
  std::exit(2);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  int i = 1;
  const auto value = [&](absl::string_view flag) -> const char* {
    if (++i >= argc) Refuse(absl::StrCat(flag, " needs a value"));
    return argv[i];
  };
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const absl::string_view flag = argv[i];
    bool good = true;
    if (flag == "-h" || flag == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else if (flag == "-n") {
      good = absl::SimpleAtoi(value(flag), &arguments.processes) && arguments.processes > 0;
    } else if (flag == "--devices") {
      good = absl::SimpleAtoi(value(flag), &arguments.devices) && arguments.devices > 0;
    } else if (flag == "--grace") {
      good = absl::SimpleAtod(value(flag), &arguments.grace) && arguments.grace >= 0;
    } else if (flag == "--label") {
      arguments.label = true;
    } else {
      Refuse(absl::StrCat("no such option: ", flag));
    }
    if (!good) Refuse(absl::StrCat(flag, " does not take ", argv[i]));
  }
  if (arguments.processes == 0) Refuse("how many processes? Give -n N");
  if (i == argc) Refuse("which command?");
  arguments.command.assign(argv + i, argv + argc);
  arguments.command.push_back(nullptr);
  return arguments;
}

// In the child: never returns.
[[noreturn]] void Become(const Arguments& arguments, const std::string& job, int process, int output,
                         const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a shoalrun that is killed takes its processes along
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  setenv("SHOAL_NUM_PROCESSES", absl::StrCat(arguments.processes).c_str(), 1);
  setenv("SHOAL_PROCESS_ID", absl::StrCat(process).c_str(), 1);
  setenv("SHOAL_JOB", job.c_str(), 1);
  unsetenv("SHOAL_COORDINATOR");  // without it the job is of one host
  if (arguments.devices > 0) setenv("SHOAL_NUM_DEVICES", absl::StrCat(arguments.devices).c_str(), 1);
  setenv("JAX_PLATFORMS", "shoal", 0);
  execvp(arguments.command[0], arguments.command.data());
  std::fprintf(stderr, "shoalrun: cannot run %s: %s\n", arguments.command[0], std::strerror(errno));
  _exit(127);
}

class Run {
 public:
  explicit Run(const Arguments& arguments) : arguments_(arguments) {
    sigemptyset(&signals_);
    for (const int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&signals_, s);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    signal_file_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  int ToTheEnd() {
    for (int p = 0; p < arguments_.processes; ++p) Start(p);
    while (std::any_of(children_.begin(), children_.end(),
                       [](const Child& c) { return c.running || c.output >= 0; })) {
      Wait();
      EndSurvivors();
    }
    return exit_code_;
  }

 private:
  void Start(int process) {
    Child child;
    int ends[2] = {-1, -1};
    if (arguments_.label && pipe2(ends, O_CLOEXEC) != 0) Refuse("no more pipes");
    child.pid = fork();
    if (child.pid == 0) Become(arguments_, job_, process, ends[1], signals_);
    if (ends[1] >= 0) close(ends[1]);
    child.output = ends[0];
    child.running = child.pid > 0;
    if (child.pid < 0) Fail(process, absl::StrCat("cannot start: ", std::strerror(errno)), 1);
    children_.push_back(std::move(child));
  }

  void Wait() {
    std::vector<pollfd> entries = {{signal_file_, POLLIN, 0}};
    for (const Child& child : children_) entries.push_back({child.output, POLLIN, 0});  // -1 is passed over
    const bool ending = exit_code_ != 0;
    if (poll(entries.data(), entries.size(), ending ? 100 : -1) <= 0) return;
    for (size_t i = 0; i < children_.size(); ++i) {
      if (entries[i + 1].revents != 0) PassOutput(static_cast<int>(i));
    }
    signalfd_siginfo info;
    while (read(signal_file_, &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo == SIGCHLD) {
        Reap();
      } else if (info.ssi_code <=
                 0) {  // sent to us alone; what a terminal sends reaches the children by itself
        Signal(static_cast<int>(info.ssi_signo));
      }
    }
  }

  void PassOutput(int process) {
    Child& child = children_[process];
    char bytes[4096];
    const ssize_t n = read(child.output, bytes, sizeof(bytes));
    if (n > 0) child.line.append(bytes, n);
    if (n == 0) {
      if (!child.line.empty()) child.line += '\n';
      close(child.output);
      child.output = -1;
    }
    for (size_t end; (end = child.line.find('\n')) != std::string::npos; child.line.erase(0, end + 1)) {
      std::printf("[%d] %.*s\n", process, static_cast<int>(end), child.line.data());
    }
    std::fflush(stdout);
  }

  void Reap() {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto child =
          std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.pid == pid; });
      if (child == children_.end()) continue;
      child->running = false;
      const int process = static_cast<int>(child - children_.begin());
      if (WIFSIGNALED(status)) {
        Fail(process,
             absl::StrCat("was ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")"),
             128 + WTERMSIG(status));
      } else if (WEXITSTATUS(status) != 0) {
        Fail(process, absl::StrCat("ended with exit code ", WEXITSTATUS(status)), WEXITSTATUS(status));
      }
    }
  }

  void Fail(int process, const std::string& how, int code) {
    if (exit_code_ != 0) return;  // the first tells; the others fail because of it
    exit_code_ = code;
    failed_at_ = absl::Now();
    std::fprintf(stderr, "shoalrun: process %d %s; the others have %g s to end\n", process, how.c_str(),
                 arguments_.grace);
  }

  void Signal(int number) {
    for (const Child& child : children_) {
      if (child.running) kill(child.pid, number);
    }
  }

  void EndSurvivors() {
    if (exit_code_ == 0) return;
    const absl::Duration since = absl::Now() - failed_at_;
    if (signals_sent_ == 0 && since > absl::Seconds(arguments_.grace)) {
      signals_sent_ = 1;
      Signal(SIGTERM);
    }
    if (signals_sent_ == 1 && since > 2 * absl::Seconds(arguments_.grace) + absl::Seconds(1)) {
      signals_sent_ = 2;
      Signal(SIGKILL);
    }
  }

  const Arguments arguments_;
  const std::string job_ = absl::StrCat("shoalrun-", getpid(), "-", absl::ToUnixMillis(absl::Now()));
  sigset_t signals_;
  int signal_file_ = -1;
  std::vector<Child> children_;
  int exit_code_ = 0;
  absl::Time failed_at_;
  int signals_sent_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return Run(Parse(argc, argv)).ToTheEnd(); }
