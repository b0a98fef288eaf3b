// Log lines to stderr: "shoal[process] W file:line] text". Levels by volume: 0 a warning that somebody must
// see, 1 a decision of weight, 2 every choice. SHOAL_LOG sets the level. Nothing is formatted below it.
//
//   SHOAL_LOG_AT(1) << "all_reduce 4 MiB over 8 ranks: ring";
#pragma once

#include <sstream>

namespace shoal {

// The level of SHOAL_LOG, read once.
int LogLevel();
// The number in the line's head, set once the launcher knows which process this is.
void SetLogProcess(int process);

// Collects one line and writes it whole when it ends.
class LogLine {
 public:
  LogLine(int level, const char* file, int line);
  ~LogLine();
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

}  // namespace shoal

#define SHOAL_LOG_AT(level)            \
  if (::shoal::LogLevel() < (level)) { \
  } else                               \
    ::shoal::LogLine((level), __FILE__, __LINE__).stream()
#define SHOAL_WARN SHOAL_LOG_AT(0)
