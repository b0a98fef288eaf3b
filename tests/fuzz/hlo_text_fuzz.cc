// libFuzzer target: HLO text. Any input gives a module or an error with a message. A module prints, reads
// back the same, and goes through HloModuleProto; one that verifies still does after all passes.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/hlo/module_proto.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "core/passes/optimize.h"

namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = shoal::ParseHloText(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) {
    Require(!module.status().message().empty(), "an error without a message");
    return 0;
  }
  const std::string printed = shoal::ToText(**module);
  const auto again = shoal::ParseHloText(printed);
  Require(again.ok() && shoal::ToText(**again) == printed, "what was printed does not read back the same");
  // Protobuf's strings are UTF-8, which neither the text nor what its escapes mean has to be.
  const bool ascii = std::all_of(printed.begin(), printed.end(), [](char c) { return c > 0 && c != '\\'; });
  if (const auto bytes = shoal::ToHloModuleProto(**module); ascii && bytes.ok()) {
    const auto back = shoal::FromHloModuleProto(*bytes);
    Require(back.ok() || back.status().code() == absl::StatusCode::kUnimplemented,
            "its bytes do not read back");
  }
  if (!shoal::Verify(**module).ok()) return 0;
  const absl::Status optimized = shoal::Optimize(**module).status();
  if (!optimized.ok()) std::cerr << optimized << "\n";
  Require(optimized.ok() && shoal::Verify(**module).ok(), "the passes broke a good module");
  return 0;
}
