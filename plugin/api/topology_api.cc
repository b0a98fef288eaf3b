// PJRT_TopologyDescription, and compiling for one without a client.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/flags.h"
#include "core/base/status.h"
#include "plugin/api/compile_options.h"
#include "plugin/api/compile_options.pb.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"
#include "plugin/api/xla_dump.h"

namespace shoal {
namespace {

// The options: devices of each of the processes, e.g. num_devices = 4 and num_processes = 2. As many devices
// as a client has, where nothing is said.
absl::Status Create(PJRT_TopologyDescription_Create_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(int64_t devices, IntFlag("SHOAL_NUM_DEVICES"));
  int64_t processes = 1;
  for (size_t i = 0; i < args.num_options; ++i) {
    const PJRT_NamedValue& value = args.create_options[i];
    absl::string_view name = View(value.name, value.name_size);
    int64_t* target = name == "num_devices" ? &devices : name == "num_processes" ? &processes : nullptr;
    if (target == nullptr || value.type != PJRT_NamedValue_kInt64 || value.int64_value < 1 ||
        value.int64_value > 1 << 16) {
      return absl::InvalidArgumentError(absl::StrCat(
          "topology option \"", name, "\"; there are num_devices and num_processes, positive integers"));
    }
    *target = value.int64_value;
  }
  Topology topology;
  for (int64_t p = 0; p < processes; ++p) {
    ProcessInfo info;
    info.num_devices = static_cast<int>(devices);
    info.first_device = DeviceId(static_cast<int32_t>(p * devices));
    topology.processes.push_back(info);
  }
  args.topology = new PJRT_TopologyDescription(PjRtTopologyDescription::Of(topology));
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_TopologyDescription_Destroy_Args& args) {
  delete args.topology;
  return absl::OkStatus();
}

absl::Status PlatformName(PJRT_TopologyDescription_PlatformName_Args& args) {
  args.platform_name = args.topology->value.platform_name.data();
  args.platform_name_size = args.topology->value.platform_name.size();
  return absl::OkStatus();
}

absl::Status PlatformVersionOf(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  args.platform_version = args.topology->value.platform_version.data();
  args.platform_version_size = args.topology->value.platform_version.size();
  return absl::OkStatus();
}

absl::Status GetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  args.descriptions = args.topology->devices.data();
  args.num_descriptions = args.topology->devices.size();
  return absl::OkStatus();
}

absl::Status Serialize(PJRT_TopologyDescription_Serialize_Args& args) {
  auto* bytes = new std::string(args.topology->value.Serialize());
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_topology = reinterpret_cast<PJRT_SerializedTopology*>(bytes);
  args.serialized_topology_deleter = [](PJRT_SerializedTopology* topology) {
    delete reinterpret_cast<std::string*>(topology);
  };
  return absl::OkStatus();
}

absl::Status Deserialize(PJRT_TopologyDescription_Deserialize_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(auto description, PjRtTopologyDescription::Deserialize(View(
                                               args.serialized_topology, args.serialized_topology_size)));
  args.topology = new PJRT_TopologyDescription(std::move(description));
  return absl::OkStatus();
}

absl::Status Attributes(PJRT_TopologyDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return absl::OkStatus();
}

absl::Status Fingerprint(PJRT_TopologyDescription_Fingerprint_Args& args) {
  args.fingerprint = args.topology->value.Fingerprint();
  return absl::OkStatus();
}

absl::Status GetMemorySpaceKindIds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& args) {
  static constexpr int kKindIds[kNumMemoryKinds] = {0, 1, 2};
  args.memory_space_kind_ids = kKindIds;
  args.num_memory_space_kind_ids = kNumMemoryKinds;
  return absl::OkStatus();
}

// Arrays lie in each kind of memory alike: as asked for, or row-major.
absl::Status MakeCanonicalShape(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args& args) {
  if (args.memory_space_kind_id < 0 || args.memory_space_kind_id >= kNumMemoryKinds) {
    return absl::InvalidArgumentError(absl::StrCat("memory space kind ", args.memory_space_kind_id,
                                                   "; there are 0 to ", kNumMemoryKinds - 1));
  }
  SHOAL_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(args.element_type, args.dims, args.num_dims));
  SHOAL_RETURN_IF_ERROR(HostByteStrides(shape, args.layout).status());
  const int64_t* minor_to_major = DescendingDims(shape.rank());
  if (args.layout != nullptr && args.layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    minor_to_major = args.layout->tiled.minor_to_major;
  } else if (args.layout != nullptr) {
    SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.layout));
  }
  wire::ArrayShape proto;
  proto.set_element_type(XlaNumber(shape.element_type()));
  for (int64_t i = 0; i < shape.rank(); ++i) {
    proto.add_dimensions(shape.dim(i));
    proto.add_is_dynamic_dimension(false);
    proto.mutable_layout()->add_minor_to_major(minor_to_major[i]);
  }
  proto.mutable_layout();
  const std::string bytes = proto.SerializeAsString();
  char* copy = new char[bytes.size()];
  std::copy(bytes.begin(), bytes.end(), copy);
  args.serialized_shape = copy;
  args.serialized_shape_size = bytes.size();
  args.serialized_shape_deleter = [](const char* shape) { delete[] shape; };
  return absl::OkStatus();
}

absl::Status CompileForTopology(PJRT_Compile_Args& args) {
  absl::string_view serialized = View(args.compile_options, args.compile_options_size);
  SHOAL_ASSIGN_OR_RETURN(CompileOptions options, ParseCompileOptions(serialized, nullptr));
  auto executable = std::make_shared<PjRtExecutable>();
  executable->source = std::string(View(args.program->code, args.program->code_size));
  executable->source_format = std::string(View(args.program->format, args.program->format_size));
  executable->source_options = std::string(serialized);
  SHOAL_ASSIGN_OR_RETURN(
      executable->compiled,
      Compile({.program = executable->source, .format = executable->source_format, .options = options}));
  executable->options = std::move(options);
  DumpForXlaOptions(*executable);
  args.executable = new PJRT_Executable(std::move(executable));
  return absl::OkStatus();
}

}  // namespace

void BindTopology(PJRT_Api& api) {
  SHOAL_BIND(api, TopologyDescription_Create, Create);
  SHOAL_BIND(api, TopologyDescription_Destroy, Destroy);
  SHOAL_BIND(api, TopologyDescription_PlatformName, PlatformName);
  SHOAL_BIND(api, TopologyDescription_PlatformVersion, PlatformVersionOf);
  SHOAL_BIND(api, TopologyDescription_GetDeviceDescriptions, GetDeviceDescriptions);
  SHOAL_BIND(api, TopologyDescription_Serialize, Serialize);
  SHOAL_BIND(api, TopologyDescription_Deserialize, Deserialize);
  SHOAL_BIND(api, TopologyDescription_Attributes, Attributes);
  SHOAL_BIND(api, TopologyDescription_Fingerprint, Fingerprint);
  SHOAL_BIND(api, TopologyDescription_GetMemorySpaceKindIds, GetMemorySpaceKindIds);
  SHOAL_BIND(api, TopologyDescription_MakeCanonicalShapeForMemorySpace, MakeCanonicalShape);
  SHOAL_BIND(api, Compile, CompileForTopology);
}

}  // namespace shoal
