// PJRT_Executable: what a compiled program says of itself.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/compile_options.h"
#include "plugin/api/handles.h"
#include "plugin/api/optimized_program.h"
#include "plugin/api/xla_dump.h"

namespace shoal {
namespace {

constexpr absl::string_view kOptimizedFormat = "hlo_with_config";

absl::Status Destroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status Name(PJRT_Executable_Name_Args& args) {
  const std::string& name = args.executable->executable->compiled.name;
  args.executable_name = name.data();
  args.executable_name_size = name.size();
  return absl::OkStatus();
}

absl::Status NumReplicas(PJRT_Executable_NumReplicas_Args& args) {
  args.num_replicas = args.executable->executable->options.num_replicas;
  return absl::OkStatus();
}

absl::Status NumPartitions(PJRT_Executable_NumPartitions_Args& args) {
  args.num_partitions = args.executable->executable->options.num_partitions;
  return absl::OkStatus();
}

absl::Status NumOutputs(PJRT_Executable_NumOutputs_Args& args) {
  args.num_outputs = args.executable->output_types.size();
  return absl::OkStatus();
}

absl::Status SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = args.executable->executable->compiled.program->code_bytes();
  return absl::OkStatus();
}

absl::Status Fingerprint(PJRT_Executable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->fingerprint.data();
  args.executable_fingerprint_size = args.executable->fingerprint.size();
  return absl::OkStatus();
}

absl::Status GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  args.properties = args.executable->costs.data();
  args.num_properties = args.executable->costs.size();
  return absl::OkStatus();
}

absl::Status GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  const Program& program = *args.executable->executable->compiled.program;
  int64_t arguments = 0, outputs = 0, aliased = 0;
  for (const Shape& shape : program.parameter_shapes()) arguments += shape.ByteSize();
  for (size_t r = 0; r < program.result_shapes().size(); ++r) {
    outputs += program.result_shapes()[r].ByteSize();
    if (program.result_donors()[r] >= 0) aliased += program.result_shapes()[r].ByteSize();
  }
  args.generated_code_size_in_bytes = program.code_bytes();
  args.argument_size_in_bytes = arguments;
  args.output_size_in_bytes = outputs;
  args.alias_size_in_bytes = aliased;
  args.temp_size_in_bytes = program.temp_bytes();
  args.host_generated_code_size_in_bytes = args.host_argument_size_in_bytes = 0;
  args.host_output_size_in_bytes = args.host_alias_size_in_bytes = args.host_temp_size_in_bytes = 0;
  const int64_t peak = arguments + outputs - aliased + program.temp_bytes();
  if (SHOAL_HAS_FIELD(args, peak_memory_in_bytes)) args.peak_memory_in_bytes = peak;
  if (SHOAL_HAS_FIELD(args, total_size_in_bytes)) args.total_size_in_bytes = peak + program.code_bytes();
  if (SHOAL_HAS_FIELD(args, peak_unpadded_heap_bytes)) {
    args.total_allocation_bytes = peak;
    args.indefinite_allocations = arguments + outputs - aliased;
    args.peak_unpadded_heap_bytes = program.temp_bytes();
  }
  return absl::OkStatus();
}

absl::Status OutputElementTypes(PJRT_Executable_OutputElementTypes_Args& args) {
  args.output_types = args.executable->output_types.data();
  args.num_output_types = args.executable->output_types.size();
  return absl::OkStatus();
}

absl::Status OutputDimensions(PJRT_Executable_OutputDimensions_Args& args) {
  args.num_outputs = args.executable->output_ranks.size();
  args.dims = args.executable->output_dims.data();
  args.dim_sizes = args.executable->output_ranks.data();
  return absl::OkStatus();
}

absl::Status ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args& args) {
  args.num_parameters = args.executable->parameter_kinds.data.size();
  args.memory_kinds = args.executable->parameter_kinds.data.data();
  args.memory_kind_sizes = args.executable->parameter_kinds.sizes.data();
  return absl::OkStatus();
}

absl::Status OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  args.num_outputs = args.executable->output_kinds.data.size();
  args.memory_kinds = args.executable->output_kinds.data.data();
  args.memory_kind_sizes = args.executable->output_kinds.sizes.data();
  return absl::OkStatus();
}

// Asked twice: first for the size, then with room for the bytes.
absl::Status OptimizedProgram(PJRT_Executable_OptimizedProgram_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(std::string bytes, OptimizedProgramBytes(*args.executable->executable));
  PJRT_Program& program = *args.program;
  program.format = kOptimizedFormat.data();
  program.format_size = kOptimizedFormat.size();
  if (program.code == nullptr) {
    program.code_size = bytes.size();
    return absl::OkStatus();
  }
  if (program.code_size < bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", program.code_size, " bytes, the optimized program has ", bytes.size()));
  }
  std::memcpy(program.code, bytes.data(), bytes.size());
  program.code_size = bytes.size();
  return absl::OkStatus();
}

absl::Status Serialize(PJRT_Executable_Serialize_Args& args) {
  auto* bytes = new std::string(SerializeExecutable(*args.executable->executable));
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_executable = reinterpret_cast<PJRT_SerializedExecutable*>(bytes);
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* executable) {
    delete reinterpret_cast<std::string*>(executable);
  };
  return absl::OkStatus();
}

absl::Status GetCompileOptions(PJRT_Executable_GetCompileOptions_Args& args) {
  auto* bytes = new std::string(args.executable->executable->source_options);
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_compile_options = reinterpret_cast<PJRT_SerializedCompileOptions*>(bytes);
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* options) {
    delete reinterpret_cast<std::string*>(options);
  };
  return absl::OkStatus();
}

absl::Status DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& args) {
  absl::string_view override_options;
  if (SHOAL_HAS_FIELD(args, overridden_serialized_compile_options_size)) {
    override_options =
        View(args.overridden_serialized_compile_options, args.overridden_serialized_compile_options_size);
  }
  PjRtClient& client = *args.client->client;
  SHOAL_ASSIGN_OR_RETURN(auto executable, DeserializeExecutable(View(args.serialized_executable,
                                                                     args.serialized_executable_size),
                                                                override_options, client));
  DumpForXlaOptions(*executable);
  SHOAL_ASSIGN_OR_RETURN(auto loaded, client.Load(std::move(executable)));
  args.loaded_executable = new PJRT_LoadedExecutable(std::move(loaded), args.client);
  return absl::OkStatus();
}

}  // namespace

void BindExecutable(PJRT_Api& api) {
  SHOAL_BIND(api, Executable_Destroy, Destroy);
  SHOAL_BIND(api, Executable_Name, Name);
  SHOAL_BIND(api, Executable_NumReplicas, NumReplicas);
  SHOAL_BIND(api, Executable_NumPartitions, NumPartitions);
  SHOAL_BIND(api, Executable_NumOutputs, NumOutputs);
  SHOAL_BIND(api, Executable_SizeOfGeneratedCodeInBytes, SizeOfGeneratedCodeInBytes);
  SHOAL_BIND(api, Executable_Fingerprint, Fingerprint);
  SHOAL_BIND(api, Executable_GetCostAnalysis, GetCostAnalysis);
  SHOAL_BIND(api, Executable_GetCompiledMemoryStats, GetCompiledMemoryStats);
  SHOAL_BIND(api, Executable_OutputElementTypes, OutputElementTypes);
  SHOAL_BIND(api, Executable_OutputDimensions, OutputDimensions);
  SHOAL_BIND(api, Executable_ParameterMemoryKinds, ParameterMemoryKinds);
  SHOAL_BIND(api, Executable_OutputMemoryKinds, OutputMemoryKinds);
  SHOAL_BIND(api, Executable_OptimizedProgram, OptimizedProgram);
  SHOAL_BIND(api, Executable_Serialize, Serialize);
  SHOAL_BIND(api, Executable_GetCompileOptions, GetCompileOptions);
  SHOAL_BIND(api, Executable_DeserializeAndLoad, DeserializeAndLoad);
}

}  // namespace shoal
