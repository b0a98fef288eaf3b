// shoal_hlo_opt PASS[,PASS...] [IN [OUT]]: reads a module from stdin, runs the passes ("optimize" and
// "prepare" are the lists), verifies after each, and prints HLO text that XLA reads, too. For tests and
// people.
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/hlo/cost_analysis.h"
#include "core/hlo/module_proto.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "core/passes/optimize.h"

namespace shoal {
namespace {

absl::Status RunPass(absl::string_view name, Module& module) {
  if (name == "optimize") return Optimize(module).status();
  if (name == "prepare") return Prepare(module).status();
  for (const Pass& pass : AllPasses()) {
    if (pass.name == name) return RunPasses({pass}, module).status();
  }
  return absl::NotFoundError(absl::StrCat("no pass ", name));
}

absl::StatusOr<std::unique_ptr<Module>> Read(absl::string_view format, absl::string_view bytes) {
  if (format == "proto") return FromHloModuleProto(bytes);
  if (format == "proto_with_config") return FromHloModuleProtoWithConfig(bytes);
  return ParseHloText(bytes);
}

absl::StatusOr<std::string> Write(absl::string_view format, const Module& module) {
  if (format == "proto") return ToHloModuleProto(module);
  if (format == "proto_with_config") return ToHloModuleProtoWithConfig(module);
  if (format == "cost") {
    const Cost cost = CostOf(module);
    return absl::StrCat("bytes accessed=", cost.bytes_accessed, "\nflops=", cost.flops,
                        "\ntranscendentals=", cost.transcendentals, "\n");
  }
  PrintOptions options;
  options.layouts = true;
  options.max_constant_elements = int64_t{1} << 40;
  return ToText(module, options);
}

absl::Status Run(absl::string_view passes, absl::string_view in, absl::string_view out,
                 absl::string_view bytes) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, Read(in, bytes));
  SHOAL_RETURN_IF_ERROR(Verify(*module));
  for (absl::string_view name : absl::StrSplit(passes, ',', absl::SkipEmpty())) {
    SHOAL_RETURN_IF_ERROR(RunPass(name, *module));
    if (absl::Status status = Verify(*module); !status.ok())
      return Annotate(status, absl::StrCat("after ", name));
  }
  SHOAL_ASSIGN_OR_RETURN(std::string written, Write(out, *module));
  std::cout << written;
  return absl::OkStatus();
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const auto argument = [&](int i) { return argc > i ? argv[i] : ""; };
  const absl::Status status = shoal::Run(argument(1), argument(2), argument(3), text);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
