// The memory descriptions extension: the kinds of memory that a described device has, whether it is there or
// not.
#include "plugin/api/handles.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

struct PJRT_MemoryDescription {
  int kind_id;
};

namespace shoal {
namespace {

constexpr PJRT_MemoryDescription kDescriptions[kNumMemoryKinds] = {{0}, {1}, {2}};
constexpr const PJRT_MemoryDescription* kPointers[kNumMemoryKinds] = {&kDescriptions[0], &kDescriptions[1],
                                                                      &kDescriptions[2]};

PJRT_Error* MemoryDescriptions(PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  args->memory_descriptions = kPointers;
  args->num_memory_descriptions = kNumMemoryKinds;
  args->default_memory_index = 0;
  return nullptr;
}

PJRT_Error* Kind(PJRT_MemoryDescription_Kind_Args* args) {
  absl::string_view kind = kMemoryKinds[args->memory_description->kind_id];
  args->kind = kind.data();
  args->kind_size = kind.size();
  args->kind_id = args->memory_description->kind_id;
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next) {
  static PJRT_MemoryDescriptions_Extension extension = {
      .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_MemoryDescriptions,
               .next = next},
      .PJRT_DeviceDescription_MemoryDescriptions = MemoryDescriptions,
      .PJRT_MemoryDescription_Kind = Kind,
  };
  return &extension.base;
}

}  // namespace shoal
