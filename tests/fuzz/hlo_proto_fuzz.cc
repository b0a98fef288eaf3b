// libFuzzer target: HloModuleProto bytes. Any input gives a module that prints, or an error with a message; a
// module that verifies reads back from its text.
#include <cstdlib>
#include <string>

#include "core/hlo/module_proto.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = shoal::FromHloModuleProto(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) {
    if (module.status().message().empty()) std::abort();
    return 0;
  }
  const std::string text = shoal::ToText(**module);
  if (shoal::Verify(**module).ok() && !shoal::ParseHloText(text).ok()) std::abort();
  return 0;
}
