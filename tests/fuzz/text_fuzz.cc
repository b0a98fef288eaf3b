// libFuzzer target: StableHLO text to HLO. Any input gives a module or an error with a message; nothing crashes, hangs
// or takes memory out of proportion.
#include <cstdlib>

#include "core/hlo/verifier.h"
#include "core/stablehlo/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (shoal::LooksLikeBytecode(text)) return 0;
  auto module = shoal::ImportStableHlo(text);
  if (module.ok()) {
    (void)shoal::VerifyStructure(**module);
  } else if (module.status().message().empty()) {
    std::abort();
  }
  return 0;
}
