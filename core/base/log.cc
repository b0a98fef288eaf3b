#include "core/base/log.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/base/flags.h"

namespace shoal {
namespace {

std::atomic<int> log_process{-1};

}  // namespace

int LogLevel() {
  static const int level = static_cast<int>(IntFlag("SHOAL_LOG").value_or(0));
  return level;
}

void SetLogProcess(int process) { log_process = process; }

LogLine::LogLine(int level, const char* file, int line) {
  const char* slash = std::strrchr(file, '/');
  text_ << "shoal";
  if (int process = log_process; process >= 0) text_ << '[' << process << ']';
  text_ << ' ' << (level == 0 ? 'W' : 'I') << ' ' << (slash ? slash + 1 : file) << ':' << line << "] ";
}

LogLine::~LogLine() {
  text_ << '\n';
  const std::string line = text_.str();
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so that lines of processes do not mix
}

}  // namespace shoal
