#include "plugin/api/trace_line.h"

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "plugin/api/shapes.h"

namespace shoal {
namespace {

// Strings longer than this are cut: a trace is read by people.
constexpr size_t kLongestString = 60;
// How many arguments or results of an execution are named.
constexpr size_t kNamedBuffers = 8;

struct Names {
  std::mutex mutex;
  absl::flat_hash_map<std::string, int> counts;           // guarded by mutex, by kind
  absl::flat_hash_map<const void*, std::string> handles;  // guarded by mutex
};

Names& AllNames() {
  static Names* const names = new Names;
  return *names;
}

template <typename Handle>
std::string NameOrNull(absl::string_view kind, const Handle* handle) {
  return handle == nullptr ? "" : NameHandle(kind, handle);
}

}  // namespace

std::string NameHandle(absl::string_view kind, const void* handle) {
  Names& names = AllNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  std::string& name = names.handles[handle];
  if (name.empty()) name = absl::StrCat(kind, "#", ++names.counts[std::string(kind)]);
  return name;
}

void ForgetHandle(const void* handle) {
  Names& names = AllNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  names.handles.erase(handle);
}

void TraceLine::Add(absl::string_view name, const std::string& value) {
  if (value.empty()) return;
  const bool named = value[0] == '=' || value[0] == '[' || value[0] == '"';
  absl::StrAppend(&text_, text_.empty() ? "" : ", ", named ? name : "", named && value[0] != '=' ? "=" : "",
                  value);
}

TraceLine& TraceLine::String(absl::string_view name, const char* data, size_t size) {
  absl::string_view text = View(data, size);
  Add(name,
      absl::StrCat("\"", text.substr(0, kLongestString), text.size() > kLongestString ? "..." : "", "\""));
  return *this;
}

TraceLine& TraceLine::Bytes(absl::string_view name, size_t size) {
  Add(name, absl::StrCat("=", size, " bytes"));
  return *this;
}

TraceLine& TraceLine::ShapeField(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  absl::StatusOr<Shape> shape = ShapeOf(type, dims, num_dims);
  Add("", shape.ok() ? shape->ToString() : "a bad shape");
  return *this;
}

TraceLine& TraceLine::Arguments(const PJRT_LoadedExecutable_Execute_Args& args) {
  if (args.num_devices > 1) Field("num_devices", args.num_devices);
  for (size_t i = 0; args.num_devices > 0 && i < args.num_args && i < kNamedBuffers; ++i) {
    Field("", static_cast<const PJRT_Buffer*>(args.argument_lists[0][i]));
  }
  if (args.num_args > kNamedBuffers) Add("", absl::StrCat(args.num_args - kNamedBuffers, " more"));
  if (args.options != nullptr && args.options->launch_id != 0) Field("launch_id", args.options->launch_id);
  return *this;
}

TraceLine& TraceLine::Results(const PJRT_LoadedExecutable_Execute_Args& args) {
  const size_t count = args.executable->executable->executable()->compiled.results.size();
  for (size_t i = 0; args.num_devices > 0 && i < count && i < kNamedBuffers; ++i) {
    Field("", static_cast<const PJRT_Buffer*>(args.output_lists[0][i]));
  }
  if (count > kNamedBuffers) Add("", absl::StrCat(count - kNamedBuffers, " more"));
  return *this;
}

std::string TraceLine::Text(const void* pointer) {
  return absl::StrCat("=0x", absl::Hex(reinterpret_cast<uintptr_t>(pointer)));
}

std::string TraceLine::Text(PJRT_Error_Code code) {
  return absl::StrCat("=", absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
}

std::string TraceLine::Text(PJRT_Buffer_Type type) {
  absl::StatusOr<ElementType> element_type = ElementTypeOf(type);
  return absl::StrCat("=", element_type.ok() ? ElementTypeName(*element_type) : "?");
}

std::string TraceLine::Text(PJRT_HostBufferSemantics semantics) {
  switch (semantics) {
    case PJRT_HostBufferSemantics_kImmutableOnlyDuringCall:
      return "immutable only during call";
    case PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes:
      return "immutable until transfer completes";
    case PJRT_HostBufferSemantics_kImmutableZeroCopy:
      return "immutable zero copy";
    case PJRT_HostBufferSemantics_kMutableZeroCopy:
      return "mutable zero copy";
  }
  return "";
}

std::string TraceLine::Text(const PJRT_Program* program) {
  if (program == nullptr) return "";
  return absl::StrCat(View(program->format, program->format_size), " program of ", program->code_size,
                      " bytes");
}

std::string TraceLine::Text(const PJRT_Client* client) { return NameOrNull("client", client); }

std::string TraceLine::Text(const PJRT_Device* device) {
  return device == nullptr ? "" : absl::StrCat("device ", device->device->description().debug_string);
}

std::string TraceLine::Text(const PJRT_DeviceDescription* description) {
  return description == nullptr ? "" : absl::StrCat("description of ", description->description.debug_string);
}

std::string TraceLine::Text(PJRT_Memory* memory) {
  if (memory == nullptr) return "";
  PjRtMemorySpace* space = Handle(memory)->space;
  return absl::StrCat("memory ", space->kind(), " of ", space->device()->description().debug_string);
}

std::string TraceLine::Text(const PJRT_Buffer* buffer) {
  if (buffer == nullptr) return "";
  return absl::StrCat(NameHandle("buffer", buffer), " ", buffer->buffer->shape().ToString());
}

std::string TraceLine::Text(const PJRT_Event* event) { return NameOrNull("event", event); }

std::string TraceLine::Text(const PJRT_Executable* executable) {
  if (executable == nullptr) return "";
  return absl::StrCat(NameHandle("executable", executable), " ", executable->executable->compiled.name);
}

std::string TraceLine::Text(const PJRT_LoadedExecutable* executable) {
  if (executable == nullptr) return "";
  return absl::StrCat(NameHandle("loaded", executable), " ",
                      executable->executable->executable()->compiled.name);
}

std::string TraceLine::Text(const PJRT_TopologyDescription* topology) {
  return NameOrNull("topology", topology);
}

std::string TraceLine::Text(const PJRT_AsyncHostToDeviceTransferManager* manager) {
  return NameOrNull("transfer", manager);
}

std::string TraceLine::Text(const PJRT_ExecuteContext* context) { return NameOrNull("context", context); }

}  // namespace shoal
