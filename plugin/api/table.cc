// GetPjrtApi, by which a caller of PJRT finds all else, and the table behind it.
#include "core/base/flags.h"
#include "plugin/api/api.h"
#include "plugin/api/cross_host_transfers.h"

namespace shoal {
namespace {

#define SHOAL_COUNT(name, field) +1
static_assert((0 SHOAL_PJRT_ENTRY_LIST(SHOAL_COUNT)) + 2 ==
                  (PJRT_Api_STRUCT_SIZE - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void*),
              "entry_list.h has not the entries of these PJRT headers");
#undef SHOAL_COUNT

template <typename Entry>
PJRT_Error* MissingEntry(typename Entry::Args*) {
  return NotImplemented(Entry::kName);
}

PJRT_Api MakeApi() {
  PJRT_Api api = {};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                          .extension_start = nullptr,
                          .major_version = PJRT_API_MAJOR,
                          .minor_version = PJRT_API_MINOR};
#define SHOAL_MISSING(name, field) api.*entry::name::kField = &MissingEntry<entry::name>;
  SHOAL_PJRT_ENTRY_LIST(SHOAL_MISSING)
#undef SHOAL_MISSING
  for (auto bind : {BindError, BindPlugin, BindEvent, BindClient, BindDevice, BindMemory, BindExecutable,
                    BindLoadedExecutable, BindBuffer, BindTransfer, BindHostTransfer, BindTopology}) {
    bind(api);
  }
  PJRT_Extension_Base* extensions = nullptr;
  for (auto extension : {LayoutsExtension, ShardingsExtension, MemoryDescriptionsExtension, FfiExtension,
                         CustomPartitionerExtension, CrossHostTransfersExtension}) {
    extensions = extension(extensions);
  }
  api.extension_start = extensions;
  return api;
}

}  // namespace

const PJRT_Api* UntracedApi() {
  static const PJRT_Api api = MakeApi();
  return &api;
}

}  // namespace shoal

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // A flag that does not parse is told by the client's creation.
  static const bool traced = shoal::BoolFlag("SHOAL_TRACE").value_or(false);
  return traced ? shoal::TracedApi(shoal::UntracedApi()) : shoal::UntracedApi();
}
