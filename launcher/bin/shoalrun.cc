// shoalrun -n N [--devices K] [--label] command...: starts N processes of a job on this host, without MPI.
//
// Sets the plain variables of launcher/cluster, binds each process to its share of the cores, passes signals
// on, and ends with the exit code of the process that failed first. The others get a grace period then, to
// say for themselves what they miss, before they are ended; so they do after a signal that asks to end. What
// they started themselves, and left behind, is ended with them.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/bin/core_shares.h"

namespace {

constexpr char kHelp[] =
    "usage: shoalrun -n N [--devices K] [--bind cores|none] [--label] [--grace SECONDS] command "
    "[argument...]\n"
    "\n"
    "Starts N processes of one Shoal job on this host, for example\n"
    "    shoalrun -n 4 --devices 2 python train.py\n"
    "\n"
    "  -n N             how many processes\n"
    "  --devices K      local devices of each (SHOAL_NUM_DEVICES)\n"
    "  --bind cores     each process has cores of its own, where there are enough (default)\n"
    "  --bind none      every process may use all cores\n"
    "  --label          begin each line of output with the process's number\n"
    "  --grace SECONDS  after one process fails, or Ctrl-C, how long the others may go on before they are "
    "ended (default 5)\n"
    "\n"
    "JAX_PLATFORMS becomes shoal where it is not set. Process 0 reads the input, the others have none. The "
    "exit code is that of the process that failed first.\n";

struct Arguments {
  int processes = 0;
  int devices = 0;  // 0: as the environment says
  bool label = false;
  bool bind = true;
  double grace = 5;
  std::vector<char*> command;  // ends with a null pointer
};

// What a labelled process writes, line by line.
struct Output {
  int pipe = -1;  // where it is read; -1 once it has ended
  FILE* to = nullptr;
  std::string line;
};

struct Child {
  pid_t pid = -1;
  Output outputs[2];  // of a labelled process: its standard output and error
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
    } else if (flag == "--bind") {
      const absl::string_view how = value(flag);
      arguments.bind = how == "cores";
      good = arguments.bind || how == "none";
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

void BindTo(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);  // a process that cannot be bound runs all the same
}

// In the child: never returns. `outputs` are the ends of pipes, or -1.
[[noreturn]] void Become(const Arguments& arguments, const std::string& job, int process,
                         const std::vector<int>& cpus, const int (&outputs)[2], const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a shoalrun that is killed takes its processes along
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  if (process > 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  if (arguments.label) {
    dup2(outputs[0], STDOUT_FILENO);
    dup2(outputs[1], STDERR_FILENO);
    setenv("PYTHONUNBUFFERED", "1", 0);  // Python keeps back what goes to a pipe
  }
  if (!cpus.empty()) BindTo(cpus);
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

class Processes {
 public:
  explicit Processes(const Arguments& arguments) : arguments_(arguments) {
    if (arguments_.bind) shares_ = shoal::ShareCores(shoal::AllowedCores(), arguments_.processes);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a process leaves behind becomes a child of ours
    sigemptyset(&signals_);
    for (const int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&signals_, s);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    signal_file_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  int ToTheEnd() {
    for (int p = 0; p < arguments_.processes; ++p) Start(p);
    while (std::any_of(children_.begin(), children_.end(), IsThere) || (ending_ && !AllChildren().empty())) {
      Wait();
      EndSurvivors();
    }
    return exit_code_;
  }

 private:
  static bool IsThere(const Child& child) {
    return child.running || child.outputs[0].pipe >= 0 || child.outputs[1].pipe >= 0;
  }

  void Start(int process) {
    Child child;
    int written[2] = {-1, -1};
    for (int o = 0; arguments_.label && o < 2; ++o) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) Refuse("no more pipes");
      child.outputs[o].pipe = ends[0];
      child.outputs[o].to = o == 0 ? stdout : stderr;
      written[o] = ends[1];
    }
    child.pid = fork();
    if (child.pid == 0) {
      Become(arguments_, job_, process, shares_.empty() ? std::vector<int>() : shares_[process], written,
             signals_);
    }
    for (const int end : written) {
      if (end >= 0) close(end);
    }
    child.running = child.pid > 0;
    if (child.pid < 0) Fail(process, absl::StrCat("cannot start: ", std::strerror(errno)), 1);
    children_.push_back(std::move(child));
  }

  void Wait() {
    std::vector<pollfd> entries = {{signal_file_, POLLIN, 0}};
    for (const Child& child : children_) {
      for (const Output& output : child.outputs)
        entries.push_back({output.pipe, POLLIN, 0});  // -1: passed over
    }
    if (poll(entries.data(), entries.size(), ending_ ? 100 : -1) <= 0) return;
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents != 0) PassOutput(static_cast<int>(i - 1) / 2, static_cast<int>(i - 1) % 2);
    }
    signalfd_siginfo info;
    while (read(signal_file_, &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo == SIGCHLD) {
        Reap();
        continue;
      }
      // Sent to us alone: what a terminal sends reaches the children by itself.
      if (info.ssi_code <= 0) Signal(static_cast<int>(info.ssi_signo));
      if (info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2) End();
    }
  }

  void PassOutput(int process, int which) {
    Output& output = children_[process].outputs[which];
    char bytes[4096];
    const ssize_t n = read(output.pipe, bytes, sizeof(bytes));
    if (n > 0) output.line.append(bytes, n);
    if (n == 0) {
      if (!output.line.empty()) output.line += '\n';
      close(output.pipe);
      output.pipe = -1;
    }
    for (size_t end; (end = output.line.find('\n')) != std::string::npos; output.line.erase(0, end + 1)) {
      std::fprintf(output.to, "[%d] %.*s\n", process, static_cast<int>(end), output.line.data());
    }
    std::fflush(output.to);
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
    End();
    std::fprintf(stderr, "shoalrun: process %d %s; the others have %g s to end\n", process, how.c_str(),
                 arguments_.grace);
  }

  void Signal(int number) {
    for (const Child& child : children_) {
      if (child.running) kill(child.pid, number);
    }
  }

  // The grace period begins.
  void End() {
    if (ending_) return;
    ending_ = true;
    ending_since_ = absl::Now();
  }

  // Our processes, and what those that have ended have left behind.
  static std::vector<pid_t> AllChildren() {
    std::ifstream file(absl::StrCat("/proc/self/task/", getpid(), "/children"));
    std::vector<pid_t> children;
    for (pid_t child; file >> child;) children.push_back(child);
    return children;
  }

  void EndSurvivors() {
    if (!ending_) return;
    const absl::Duration since = absl::Now() - ending_since_;
    const bool kills = since > 2 * absl::Seconds(arguments_.grace) + absl::Seconds(1);
    if (since <= absl::Seconds(arguments_.grace)) return;
    for (const pid_t child : AllChildren()) {
      if ((kills ? killed_ : asked_).insert(child).second) kill(child, kills ? SIGKILL : SIGTERM);
    }
  }

  const Arguments arguments_;
  const std::string job_ = absl::StrCat("shoalrun-", getpid(), "-", absl::ToUnixMillis(absl::Now()));
  sigset_t signals_;
  int signal_file_ = -1;
  std::vector<Child> children_;
  std::vector<std::vector<int>> shares_;  // of cores, by process; empty: none is bound
  int exit_code_ = 0;
  bool ending_ = false;
  absl::Time ending_since_;
  std::set<pid_t> asked_, killed_;  // to end, since the grace period is over
};

}  // namespace

int main(int argc, char** argv) { return Processes(Parse(argc, argv)).ToTheEnd(); }
