// All stages from bytes to a program, in order.
#include "plugin/compile/compiler.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/codegen/kernel.h"
#include "core/hlo/instruction.h"
#include "core/hlo/printer.h"
#include "core/lower/lower.h"
#include "core/memory/liveness.h"
#include "core/ops/verify.h"
#include "core/passes/fuse.h"
#include "core/passes/schedule.h"
#include "core/stablehlo/import.h"
#include "plugin/compile/dump.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

// The process's JIT; never destroyed, for programs may outlive everything.
absl::StatusOr<Jit*> SharedJit() {
  static auto* const jit = new absl::StatusOr<std::unique_ptr<Jit>>(Jit::Create());
  if (!jit->ok()) return jit->status();
  return (*jit)->get();
}

// The same on every process, unlike absl's hashes: FNV-1a over the text.
uint64_t FingerprintOf(const Module& module) {
  PrintOptions options;
  options.metadata = false;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : ToText(module, options)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

absl::StatusOr<std::unique_ptr<Module>> Read(const CompileRequest& request) {
  if (request.format == "mlir") return ImportStableHlo(request.program);
  return absl::UnimplementedError(absl::StrCat("program format '", request.format, "'"));
}

std::vector<Shape> ParameterLeaves(const Module& module) {
  std::vector<Shape> leaves;
  for (const Instruction* parameter : module.entry()->parameters()) {
    for (Shape& leaf : parameter->shape().Leaves()) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

std::vector<CompiledArray> Arrays(const std::vector<Shape>& global, absl::Span<const Shape> local,
                                  const std::vector<std::string>& memory_kinds) {
  std::vector<CompiledArray> arrays;
  for (size_t i = 0; i < global.size(); ++i) {
    CompiledArray& array = arrays.emplace_back();
    array.global = global[i];
    array.local = local[i];
    if (i < memory_kinds.size() && !memory_kinds[i].empty()) array.memory_kind = memory_kinds[i];
  }
  return arrays;
}

}  // namespace

absl::StatusOr<CompiledModule> Compile(const CompileRequest& request) {
  const Clock::time_point start = Clock::now();
  SHOAL_ASSIGN_OR_RETURN(Jit* const jit, SharedJit());
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, Read(request));
  module->config().num_replicas = request.options.num_replicas;
  module->config().num_partitions = request.options.num_partitions;
  ProgramDump dump(module->name());
  dump.Write("import", *module);
  SHOAL_RETURN_IF_ERROR(Verify(*module));
  CompiledModule compiled;
  compiled.name = module->name();
  const std::vector<Shape> global_parameters = ParameterLeaves(*module);
  const std::vector<Shape> global_results = module->entry()->root()->shape().Leaves();

  compiled.fingerprint = FingerprintOf(*module);
  UnshareControl(*module);
  SHOAL_RETURN_IF_ERROR(Fuse(*module, FusionModel{CanFuse, ElementCostNs}).status());
  dump.Write("fuse", *module);
  SHOAL_RETURN_IF_ERROR(Schedule(*module).status());
  dump.Write("schedule", *module);
  LowerTimes times;
  SHOAL_ASSIGN_OR_RETURN(auto program, Lower(*module, compiled.fingerprint, *jit, &times));

  compiled.parameters =
      Arrays(global_parameters, program->parameter_shapes(), module->config().parameter_memory_kinds);
  compiled.results = Arrays(global_results, program->result_shapes(), module->config().result_memory_kinds);
  compiled.program = std::move(program);
  compiled.optimized = std::move(module);
  compiled.stats.compile_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  SHOAL_LOG_AT(1) << "compiled " << compiled.name << " in " << compiled.stats.compile_seconds * 1e3
                  << " ms (emit " << times.emit * 1e3 << ", buffers " << times.assign * 1e3
                  << ", native code " << times.compile * 1e3 << ", load " << times.load * 1e3 << ")";
  return compiled;
}

}  // namespace shoal
