#include "plugin/api/xla_dump.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/hlo/module_proto.h"
#include "core/hlo/printer.h"
#include "plugin/api/compile_options.pb.h"

namespace shoal {
namespace {

// JAX sends a bool as one or as "True".
bool IsOn(const wire::CompileOptions& options, const char* name) {
  const auto found = options.env_option_overrides().find(name);
  if (found == options.env_option_overrides().end()) return false;
  return found->second.bool_field() || found->second.string_field() == "True";
}

void WriteFile(const std::string& path, absl::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) {
    SHOAL_WARN << "xla_dump_to: cannot write " << path;
  }
}

}  // namespace

void DumpForXlaOptions(const PjRtExecutable& executable) {
  static std::atomic<int> programs{0};
  wire::CompileOptions options;
  if (executable.compiled.optimized == nullptr || !options.ParseFromString(executable.source_options)) return;
  const auto found = options.env_option_overrides().find("xla_dump_to");
  if (found == options.env_option_overrides().end() || found->second.string_field().empty()) return;
  const std::string& directory = found->second.string_field();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const Module& module = *executable.compiled.optimized;
  const std::string path = absl::StrFormat("%s/module_%04d.%s.cpu_after_optimizations", directory,
                                           programs.fetch_add(1), executable.compiled.name);
  const bool proto = IsOn(options, "xla_dump_hlo_as_proto");
  if (!proto || IsOn(options, "xla_dump_hlo_as_text")) WriteFile(path + ".txt", ToText(module));
  if (!proto) return;
  const absl::StatusOr<std::string> bytes = ToHloModuleProto(module);
  if (!bytes.ok()) {
    SHOAL_WARN << "xla_dump_to: " << bytes.status();
    return;
  }
  wire::HloProto file;
  file.set_hlo_module(*bytes);
  WriteFile(path + ".hlo.pb", file.SerializeAsString());
}

}  // namespace shoal
