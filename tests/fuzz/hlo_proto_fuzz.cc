// libFuzzer target: HloModuleProto bytes. Any input gives a module that prints and reads back as text, or an
// error with a message.
#include <cstdlib>

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
  (void)shoal::Verify(**module);
  const auto again = shoal::ParseHloText(shoal::ToText(**module));
  if (!again.ok()) std::abort();
  return 0;
}
