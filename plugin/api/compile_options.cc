#include "plugin/api/compile_options.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "plugin/api/compile_options.pb.h"

namespace shoal {
namespace {

// No job has more; keeps a corrupt count from being multiplied out.
constexpr int64_t kMostParts = 1 << 20;

// The proto's bytes end in their fingerprint: a cache on disk can be damaged, and a proto whose strings are
// is still one.
constexpr size_t kFingerprintBytes = sizeof(uint64_t);

std::string WithFingerprint(std::string bytes) {
  const uint64_t fingerprint = Fingerprint(bytes);
  bytes.append(reinterpret_cast<const char*>(&fingerprint), kFingerprintBytes);
  return bytes;
}

absl::StatusOr<absl::string_view> CheckFingerprint(absl::string_view serialized) {
  uint64_t fingerprint = 0;
  if (serialized.size() >= kFingerprintBytes) {
    const absl::string_view bytes = serialized.substr(0, serialized.size() - kFingerprintBytes);
    std::memcpy(&fingerprint, bytes.data() + bytes.size(), kFingerprintBytes);
    if (fingerprint == Fingerprint(bytes)) return bytes;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the serialized executable of ", serialized.size(),
                   " bytes is damaged or not Shoal's; compile its program again"));
}

template <typename Message>
absl::Status ParseProto(absl::string_view bytes, absl::string_view what, Message& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", bytes.size(), " bytes do not parse"));
}

absl::StatusOr<std::vector<DeviceId>> AssignmentOf(const wire::DeviceAssignment& proto,
                                                   const CompileOptions& options) {
  if (proto.computation_devices_size() != options.num_partitions) {
    return absl::InvalidArgumentError(absl::StrCat("compile options: ", options.num_partitions,
                                                   " partitions, and ", proto.computation_devices_size(),
                                                   " in the device assignment"));
  }
  std::vector<DeviceId> devices(static_cast<size_t>(options.num_replicas) * options.num_partitions);
  for (int p = 0; p < options.num_partitions; ++p) {
    const auto& partition = proto.computation_devices(p);
    if (partition.replica_device_ids_size() != options.num_replicas) {
      return absl::InvalidArgumentError(absl::StrCat("compile options: ", options.num_replicas,
                                                     " replicas, and ", partition.replica_device_ids_size(),
                                                     " in the device assignment of partition ", p));
    }
    for (int r = 0; r < options.num_replicas; ++r) {
      devices[static_cast<size_t>(r) * options.num_partitions + p] =
          DeviceId(static_cast<int32_t>(partition.replica_device_ids(r)));
    }
  }
  return devices;
}

// Switches of XLA's for every platform and for CPUs. XLA's debug options ask for nothing that changes a
// result, so Shoal has no use for any; but a value that XLA would refuse is a user's mistake here as well.
constexpr absl::string_view kXlaSwitches[] = {
    "xla_allow_excess_precision",
    "xla_cpu_enable_concurrency_optimized_scheduler",
    "xla_cpu_enable_fast_math",
    "xla_cpu_enable_fast_min_max",
    "xla_cpu_fast_math_honor_division",
    "xla_cpu_fast_math_honor_functions",
    "xla_cpu_fast_math_honor_infs",
    "xla_cpu_fast_math_honor_nans",
    "xla_cpu_multi_thread_eigen",
    "xla_cpu_use_thunk_runtime",
    "xla_disable_all_hlo_passes",
    "xla_embed_ir_in_executable",
    "xla_enable_fast_math",
    "xla_llvm_disable_expensive_passes",
};

absl::Status CheckOverride(const std::string& name, const wire::OptionOverride& value) {
  if (!absl::StartsWith(name, "xla_")) {
    return absl::InvalidArgumentError(absl::StrCat("No such compile option: '", name, "'"));
  }
  const std::string& text = value.string_field();
  if (value.value_case() != wire::OptionOverride::kStringField || text == "True" || text == "False" ||
      !absl::c_linear_search(kXlaSwitches, name)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("compile option ", name, ": '", text, "' is not a valid bool value."));
}

// The arrays of an XLA shape, one after another, with their layouts.
absl::Status AppendArrays(const wire::ArrayShape& proto, absl::string_view what,
                          std::vector<WantedArray>& arrays) {
  constexpr int kTuple = 13;
  if (proto.element_type() == kTuple) {
    for (const wire::ArrayShape& element : proto.tuple_shapes())
      SHOAL_RETURN_IF_ERROR(AppendArrays(element, what, arrays));
    return absl::OkStatus();
  }
  const auto error = [what](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("compile options: ", what, ": ", why));
  };
  const absl::StatusOr<ElementType> type = ElementTypeFromXlaNumber(proto.element_type());
  if (!type.ok()) return error(type.status().message());
  const absl::Span<const int64_t> dims(proto.dimensions().data(), proto.dimensions().size());
  if (const auto bytes = CheckedProduct(dims, ByteWidth(*type)); !bytes.ok())
    return error(bytes.status().message());
  WantedArray array{*type == ElementType::kToken ? Shape::Token() : Shape::Array(*type, dims), {}};
  if (!proto.layout().tiles().empty())
    return absl::UnimplementedError(absl::StrCat("compile options: ", what, ": a tiled layout of ",
                                                 array.shape.ToString(), ": CPU arrays have no tiles"));
  array.minor_to_major.assign(proto.layout().minor_to_major().begin(), proto.layout().minor_to_major().end());
  std::vector<int64_t> sorted = array.minor_to_major;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() == dims.size() && sorted[i] == static_cast<int64_t>(i)) continue;
    return error(absl::StrCat("{", absl::StrJoin(array.minor_to_major, ","), "} is no layout of ",
                              array.shape.ToString()));
  }
  arrays.push_back(std::move(array));
  return absl::OkStatus();
}

absl::Status ReadLayouts(const wire::CompileOptions& proto, CompileOptions& options) {
  for (const wire::ArrayShape& shape : proto.argument_layouts())
    SHOAL_RETURN_IF_ERROR(AppendArrays(shape, "argument_layouts", options.argument_layouts));
  const wire::BuildOptions& build = proto.executable_build_options();
  if (!build.has_result_layout()) return absl::OkStatus();
  return AppendArrays(build.result_layout(), "result_layout", options.result_layouts);
}

absl::Status CheckOverrides(const wire::CompileOptions& proto) {
  // In the order of names, so that the same mistake is told each time.
  const std::map<std::string, wire::OptionOverride> sorted(proto.env_option_overrides().begin(),
                                                           proto.env_option_overrides().end());
  for (const auto& [name, value] : sorted) SHOAL_RETURN_IF_ERROR(CheckOverride(name, value));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompileOptions> ParseCompileOptions(absl::string_view serialized, const PjRtClient* client) {
  wire::CompileOptions proto;
  SHOAL_RETURN_IF_ERROR(ParseProto(serialized, "compile options", proto));
  SHOAL_RETURN_IF_ERROR(CheckOverrides(proto));
  const wire::BuildOptions& build = proto.executable_build_options();
  const int64_t replicas = std::max<int64_t>(1, build.num_replicas());
  const int64_t partitions = std::max<int64_t>(1, build.num_partitions());
  if (replicas > kMostParts || partitions > kMostParts || replicas * partitions > kMostParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("compile options: ", replicas, " replicas x ", partitions, " partitions are too many"));
  }
  if (build.use_auto_spmd_partitioning()) {
    return absl::UnimplementedError(
        "compile option use_auto_spmd_partitioning: Shoal searches for no shardings; give some arrays "
        "theirs, and propagation finds those of the others");
  }
  CompileOptions options;
  SHOAL_RETURN_IF_ERROR(ReadLayouts(proto, options));
  options.num_replicas = static_cast<int>(replicas);
  options.num_partitions = static_cast<int>(partitions);
  options.allow_spmd_sharding_propagation_to_parameters.assign(
      build.allow_spmd_sharding_propagation_to_parameters().begin(),
      build.allow_spmd_sharding_propagation_to_parameters().end());
  options.allow_spmd_sharding_propagation_to_outputs.assign(
      build.allow_spmd_sharding_propagation_to_output().begin(),
      build.allow_spmd_sharding_propagation_to_output().end());
  // parameter_is_tupled_arguments asks for nothing: a parameter that is a tuple is passed as its arrays, one
  // after another, whether the program or the caller wants it to be one.
  // A portable executable runs wherever it is told to, whatever is assigned.
  if (proto.compile_portable_executable() && replicas * partitions == 1) return options;
  if (build.has_device_assignment()) {
    SHOAL_ASSIGN_OR_RETURN(options.device_assignment, AssignmentOf(build.device_assignment(), options));
  } else if (client != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(options.device_assignment,
                           client->DefaultDeviceAssignment(options.num_replicas, options.num_partitions));
  }
  return options;
}

std::string SerializeDeviceAssignment(const CompileOptions& options) {
  if (options.device_assignment.empty()) return "";
  wire::DeviceAssignment proto;
  proto.set_replica_count(options.num_replicas);
  proto.set_computation_count(options.num_partitions);
  for (int p = 0; p < options.num_partitions; ++p) {
    auto* partition = proto.add_computation_devices();
    for (int r = 0; r < options.num_replicas; ++r) {
      partition->add_replica_device_ids(options.device_assignment[r * options.num_partitions + p].value());
    }
  }
  return proto.SerializeAsString();
}

std::string SerializeExecutable(const PjRtExecutable& executable) {
  wire::SerializedExecutable proto;
  proto.set_platform_version(std::string(PlatformVersion()));
  proto.set_program(executable.source);
  proto.set_format(executable.source_format);
  proto.set_compile_options(executable.source_options);
  if (executable.compiled.save_code != nullptr) proto.set_code(executable.compiled.save_code());
  return WithFingerprint(proto.SerializeAsString());
}

absl::StatusOr<std::shared_ptr<const PjRtExecutable>> DeserializeExecutable(
    absl::string_view serialized, absl::string_view override_options, const PjRtClient& client) {
  wire::SerializedExecutable proto;
  SHOAL_ASSIGN_OR_RETURN(const absl::string_view bytes, CheckFingerprint(serialized));
  SHOAL_RETURN_IF_ERROR(ParseProto(bytes, "serialized executable", proto));
  if (proto.platform_version() != PlatformVersion()) {
    return absl::InvalidArgumentError(absl::StrCat("the executable was serialized by \"",
                                                   proto.platform_version(), "\", this is \"",
                                                   PlatformVersion(), "\"; compile its program again"));
  }
  absl::string_view source_options = override_options.empty() ? proto.compile_options() : override_options;
  SHOAL_ASSIGN_OR_RETURN(CompileOptions options, ParseCompileOptions(source_options, &client));
  return client.Compile(proto.program(), proto.format(), std::move(options), std::string(source_options),
                        proto.code());
}

}  // namespace shoal
