// shoal_import FILE...: imports each file (MLIR bytecode or StableHLO text), verifies it, and prints its HLO
// as XLA reads it; a file that fails is a line on stderr. Exit code 1 if one failed.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "core/base/status.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "core/stablehlo/import.h"

namespace {

absl::Status PrintOne(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError("the file cannot be read");
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<shoal::Module> module, shoal::ImportStableHlo(bytes));
  SHOAL_RETURN_IF_ERROR(shoal::Verify(*module));
  shoal::PrintOptions options;
  options.metadata = false;
  options.max_constant_elements = 1 << 20;
  std::cout << shoal::ToText(*module, options) << "\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::Status status = PrintOne(argv[i]);
    if (status.ok()) continue;
    std::cerr << argv[i] << ": " << status << "\n";
    failed = 1;
  }
  return failed;
}
