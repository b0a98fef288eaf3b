// libFuzzer target: MLIR bytecode to HLO. Any input gives a module that passes VerifyStructure or an error with a
// message; nothing crashes, hangs or takes memory out of proportion.
#include <cstdlib>

#include "core/hlo/verifier.h"
#include "core/stablehlo/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes = "ML\xEFR" + std::string(reinterpret_cast<const char*>(data), size);
  auto module = shoal::ImportStableHlo(bytes);
  if (module.ok()) {
    (void)shoal::VerifyStructure(**module);
  } else if (module.status().message().empty()) {
    std::abort();
  }
  return 0;
}
