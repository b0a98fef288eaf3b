// The layouts extension: how arrays lie in a device's memory, in XLA's notation: "{1,0}", row-major, unless a
// program has been told otherwise.
#include <string>

#include "core/base/status.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"

namespace shoal {
namespace {

constexpr char kName[] = "layouts extension";

absl::Status Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args& args) {
  delete args.layout;
  return absl::OkStatus();
}

absl::Status Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  auto* text = new std::string(args.layout->text);
  args.serialized_bytes = text->data();
  args.serialized_bytes_size = text->size();
  args.serialized_layout = reinterpret_cast<PJRT_Layouts_SerializedLayout*>(text);
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* layout) {
    delete reinterpret_cast<std::string*>(layout);
  };
  return absl::OkStatus();
}

template <typename Args>
absl::Status GetDefaultLayout(Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.type, args.dims, args.num_dims));
  args.layout = new PJRT_Layouts_MemoryLayout{LayoutText(shape, {})};
  return absl::OkStatus();
}

absl::Status BufferLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  const PjRtBuffer& buffer = *args.buffer->buffer;
  args.layout = new PJRT_Layouts_MemoryLayout{LayoutText(buffer.shape(), buffer.minor_to_major())};
  return absl::OkStatus();
}

absl::Status OutputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  args.num_outputs = args.executable->output_layouts.size();
  args.layouts = args.executable->output_layouts.data();
  return absl::OkStatus();
}

absl::Status ParameterLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& args) {
  args.num_parameters = args.executable->parameter_layouts.size();
  args.layouts = args.executable->parameter_layouts.data();
  return absl::OkStatus();
}

}  // namespace

PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next) {
  static PJRT_Layouts_Extension extension = {
      .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Layouts,
               .next = next},
      .PJRT_Layouts_MemoryLayout_Destroy = ExtensionEntry<kName, Destroy>,
      .PJRT_Layouts_MemoryLayout_Serialize = ExtensionEntry<kName, Serialize>,
      .PJRT_Layouts_PJRT_Client_GetDefaultLayout =
          ExtensionEntry<kName, GetDefaultLayout<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>>,
      .PJRT_Layouts_PJRT_Buffer_MemoryLayout = ExtensionEntry<kName, BufferLayout>,
      .PJRT_Layouts_PJRT_Topology_GetDefaultLayout =
          ExtensionEntry<kName, GetDefaultLayout<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>>,
      .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = ExtensionEntry<kName, OutputLayouts>,
      .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = ExtensionEntry<kName, ParameterLayouts>,
  };
  return &extension.base;
}

}  // namespace shoal
