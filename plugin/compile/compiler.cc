// All stages from bytes to a program, in order.
#include "plugin/compile/compiler.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/fingerprint.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/codegen/kernel.h"
#include "core/codegen/row_fusion.h"
#include "core/hlo/cost_analysis.h"
#include "core/hlo/instruction.h"
#include "core/hlo/module_proto.h"
#include "core/hlo/op_sharding.h"
#include "core/hlo/printer.h"
#include "core/lower/lower.h"
#include "core/lower/saved_code.h"
#include "core/memory/liveness.h"
#include "core/ops/verify.h"
#include "core/passes/fuse.h"
#include "core/passes/optimize.h"
#include "core/passes/schedule.h"
#include "core/stablehlo/import.h"
#include "plugin/compile/dump.h"
#include "plugin/compile/inspect_sharding.h"
#include "plugin/compile/memory_layouts.h"
#include "sharding/partition/partition.h"
#include "sharding/propagate/propagate.h"
#include "sharding/spec/gspmd.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

// The process's native code; never destroyed, for programs may outlive everything.
absl::StatusOr<KernelCache*> SharedKernels() {
  static auto* const cache = new absl::StatusOr<KernelCache*>([]() -> absl::StatusOr<KernelCache*> {
    SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create());
    return new KernelCache(std::move(jit));
  }());
  return *cache;
}

uint64_t FingerprintOf(const Module& module) {
  PrintOptions options;
  options.metadata = false;
  options.digest_constants = true;
  return Fingerprint(ToText(module, options));
}

// What an instruction's OpSharding in a proto says, one a leaf of its shape.
absl::StatusOr<std::vector<Sharding>> ReadShardings(const std::string& op_sharding, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(OpSharding parsed, ParseOpSharding(op_sharding));
  const std::vector<Shape> leaves = shape.Leaves();
  std::vector<OpSharding> of_leaves = parsed.elements;
  if (parsed.type != OpSharding::Type::kTuple) of_leaves.assign(leaves.size(), parsed);
  if (of_leaves.size() != leaves.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sharding of ", of_leaves.size(), " parts for ", shape.ToString()));
  }
  std::vector<Sharding> shardings;
  for (size_t i = 0; i < leaves.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Sharding sharding, FromOpSharding(of_leaves[i], leaves[i].rank()));
    shardings.push_back(std::move(sharding));
  }
  return shardings;
}

absl::StatusOr<std::unique_ptr<Module>> Read(const CompileRequest& request, EntryLayouts* layouts) {
  if (request.format == "mlir") {
    return ImportStableHlo(request.program, request.options.num_partitions, layouts,
                           request.options.num_replicas);
  }
  if (request.format == "hlo") return FromHloModuleProto(request.program, ReadShardings);
  if (request.format == "hlo_with_config")
    return FromHloModuleProtoWithConfig(request.program, ReadShardings);
  return absl::UnimplementedError(absl::StrCat("a program of format \"", request.format,
                                               "\": Shoal reads \"mlir\", \"hlo\" and \"hlo_with_config\""));
}

std::vector<Shape> ParameterLeaves(const Module& module) {
  std::vector<Shape> leaves;
  for (const Instruction* parameter : module.entry()->parameters()) {
    for (Shape& leaf : parameter->shape().Leaves()) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

// Shardings of the entry's parameters, one a leaf; a sharding without a mesh where nothing is said.
std::vector<Sharding> ParameterShardings(const Module& module) {
  std::vector<Sharding> all;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<Sharding> shardings = parameter->shardings();
    shardings.resize(parameter->shape().Leaves().size());
    all.insert(all.end(), shardings.begin(), shardings.end());
  }
  return all;
}

std::vector<CompiledArray> Arrays(const std::vector<Shape>& global, absl::Span<const Shape> local,
                                  const std::vector<Sharding>& shardings,
                                  const std::vector<std::string>& memory_kinds,
                                  const std::vector<IntVector>& layouts) {
  std::vector<CompiledArray> arrays;
  for (size_t i = 0; i < global.size(); ++i) {
    CompiledArray& array = arrays.emplace_back();
    array.global = global[i];
    array.local = local[i];
    if (i < layouts.size() && !layouts[i].empty()) {
      array.minor_to_major = layouts[i];
      DimVector dims(layouts[i].size());
      for (size_t j = 0; j < dims.size(); ++j)
        dims[layouts[i][dims.size() - 1 - j]] = local[i].dim(static_cast<int64_t>(j));
      array.local = local[i].WithDims(dims);
    }
    if (i < shardings.size()) array.op_sharding = SerializeOpSharding(ToOpSharding(shardings[i]));
    if (i < memory_kinds.size() && !memory_kinds[i].empty()) array.memory_kind = memory_kinds[i];
  }
  return arrays;
}

// From the global program to the one that each device runs.
absl::Status Partition(Module& module, const CompileOptions& options, ProgramDump& dump) {
  if (options.num_partitions > 1) {
    PropagationOptions propagation;
    propagation.choose_parameters = options.allow_spmd_sharding_propagation_to_parameters;
    propagation.choose_results = options.allow_spmd_sharding_propagation_to_outputs;
    SHOAL_RETURN_IF_ERROR(PropagateShardings(module, propagation));
    dump.Write("propagate", module);
  }
  SHOAL_RETURN_IF_ERROR(InspectShardings(module));
  SHOAL_RETURN_IF_ERROR(Partition(module));
  dump.Write("partition", module);
  return absl::OkStatus();
}

// Code that does not fit is no error: then the program is compiled.
void TakeSavedCode(const CompileRequest& request, const std::string& name, KernelCache& kernels) {
  if (request.saved_code.empty()) return;
  const absl::Status restored = RestoreCode(request.saved_code, kernels);
  if (!restored.ok()) {
    SHOAL_LOG_AT(1) << name << " is compiled anew: " << restored;
  }
}

}  // namespace

absl::StatusOr<CompiledModule> Compile(const CompileRequest& request) {
  const Clock::time_point start = Clock::now();
  SHOAL_ASSIGN_OR_RETURN(KernelCache* const kernels, SharedKernels());
  EntryLayouts wanted_layouts;
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, Read(request, &wanted_layouts));
  module->config().num_replicas = request.options.num_replicas;
  module->config().num_partitions = request.options.num_partitions;
  ProgramDump dump(module->name());
  dump.Write("import", *module);
  SHOAL_RETURN_IF_ERROR(Verify(*module));
  CompiledModule compiled;
  compiled.name = module->name();
  const std::vector<Shape> global_parameters = ParameterLeaves(*module);
  const std::vector<Shape> global_results = module->entry()->root()->shape().Leaves();

  SHOAL_RETURN_IF_ERROR(TakeLayouts("argument", request.options.argument_layouts, global_parameters,
                                    wanted_layouts.parameters));
  SHOAL_RETURN_IF_ERROR(
      TakeLayouts("result", request.options.result_layouts, global_results, wanted_layouts.results));

  const PassObserver observer = [&](absl::string_view pass, const Module& after) { dump.Write(pass, after); };
  SHOAL_RETURN_IF_ERROR(Prepare(*module, observer).status());
  SHOAL_RETURN_IF_ERROR(Partition(*module, request.options, dump));
  std::vector<Sharding> parameter_shardings, result_shardings;
  if (request.options.num_partitions > 1) {
    parameter_shardings = ParameterShardings(*module);
    result_shardings = module->config().result_shardings;
  }

  SHOAL_ASSIGN_OR_RETURN(const MemoryLayouts layouts, ApplyLayouts(*module, wanted_layouts));

  compiled.fingerprint = FingerprintOf(*module);
  SHOAL_RETURN_IF_ERROR(Optimize(*module, observer).status());
  UnshareControl(*module);
  SHOAL_RETURN_IF_ERROR(Fuse(*module, FusionModel{CanFuse, ElementCostNs, CanBeRowKernel}).status());
  dump.Write("fuse", *module);
  SHOAL_RETURN_IF_ERROR(Schedule(*module).status());
  dump.Write("schedule", *module);
  LowerTimes times;
  TakeSavedCode(request, compiled.name, *kernels);
  SHOAL_ASSIGN_OR_RETURN(Lowered lowered,
                         Lower(*module, compiled.fingerprint, *kernels, &times, request.peers));

  compiled.parameters = Arrays(global_parameters, lowered.program->parameter_shapes(), parameter_shardings,
                               module->config().parameter_memory_kinds, layouts.parameters);
  compiled.results = Arrays(global_results, lowered.program->result_shapes(), result_shardings,
                            module->config().result_memory_kinds, layouts.results);
  compiled.program = std::move(lowered.program);
  compiled.save_code = [code = std::move(lowered.code)] { return SaveCode(*code); };
  compiled.optimized = std::move(module);
  const Cost cost = CostOf(*compiled.optimized);
  compiled.stats = {cost.flops, cost.transcendentals, cost.bytes_accessed};
  compiled.stats.compile_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  SHOAL_LOG_AT(1) << "compiled " << compiled.name << " in " << compiled.stats.compile_seconds * 1e3 << " ms ("
                  << times.new_kernels << " of " << times.kernel_count
                  << " kernels new: " << times.kernels * 1e3 << ", buffers " << times.buffers * 1e3
                  << ", control " << times.control * 1e3 << ", plan " << times.plan * 1e3 << ")";
  return compiled;
}

}  // namespace shoal
