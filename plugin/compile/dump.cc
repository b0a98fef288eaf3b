#include "plugin/compile/dump.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/hlo/printer.h"

namespace shoal {

ProgramDump::ProgramDump(absl::string_view module_name) {
  static std::atomic<int> programs{0};
  const absl::StatusOr<std::string> directory = StringFlag("SHOAL_DUMP");
  if (!directory.ok() || directory->empty()) return;
  const std::string folder =
      absl::StrCat(*directory, "/", module_name, ".", programs.fetch_add(1, std::memory_order_relaxed));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    SHOAL_WARN << "SHOAL_DUMP: cannot make " << folder << ": " << error.message();
    return;
  }
  folder_ = folder;
}

void ProgramDump::Write(absl::string_view stage, const Module& module) {
  if (!enabled()) return;
  std::ofstream file(absl::StrFormat("%s/%02d_%s.hlo", folder_, next_++, stage));
  file << ToText(module);
}

}  // namespace shoal
