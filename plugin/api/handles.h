// What stands behind the opaque pointers of the C API: each a small struct around an object of plugin/client,
// with the arrays and C strings that the API lends out.
//
// Lifetimes are the API's: devices, memories and the topology live as long as their client; everything else
// until the caller destroys it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plugin/api/api.h"
#include "plugin/client/alias_buffer.h"
#include "plugin/client/client.h"
#include "plugin/client/transfer_manager.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

struct PJRT_DeviceDescription {
  shoal::PjRtDeviceDescription description;
};

struct PJRT_TopologyDescription {
  explicit PJRT_TopologyDescription(shoal::PjRtTopologyDescription description);
  shoal::PjRtTopologyDescription value;
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;
  std::vector<PJRT_DeviceDescription*> devices;
};

struct PJRT_Device {
  shoal::PjRtDevice* device;
  PJRT_Client* client;
  PJRT_DeviceDescription* description;  // the topology's
  std::vector<PJRT_Memory*> memories;   // by kind
};

struct PJRT_Client {
  explicit PJRT_Client(std::unique_ptr<shoal::PjRtClient> made);
  ~PJRT_Client();
  PJRT_Device* Of(const shoal::PjRtDevice* device) const { return devices[device->id().value()]; }
  PJRT_Memory* Of(const shoal::PjRtMemorySpace* space) const {
    return Of(space->device())->memories[space->kind_id()];
  }

  std::unique_ptr<shoal::PjRtClient> client;
  std::unique_ptr<PJRT_TopologyDescription> topology;
  std::vector<PJRT_Device*> devices;  // by id
  std::vector<PJRT_Device*> addressable_devices;
  std::vector<PJRT_Memory*> memories;
};

struct PJRT_Buffer {
  std::unique_ptr<shoal::PjRtBuffer> buffer;
  PJRT_Client* client;
};

struct PJRT_Event {
  shoal::Future future;
  std::unique_ptr<shoal::Promise> promise;  // of an event that the caller sets
};

// What the API lends out of an executable, made with it.
struct PJRT_Executable {
  explicit PJRT_Executable(std::shared_ptr<const shoal::PjRtExecutable> made);
  std::shared_ptr<const shoal::PjRtExecutable> executable;
  std::string fingerprint;
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  struct Strings {
    std::vector<const char*> data;
    std::vector<size_t> sizes;
    void Add(absl::string_view text) {
      data.push_back(text.data());
      sizes.push_back(text.size());
    }
  };
  Strings parameter_kinds, output_kinds, parameter_shardings, output_shardings;
  std::vector<PJRT_NamedValue> costs;
  std::vector<PJRT_Layouts_MemoryLayout*> parameter_layouts, output_layouts;  // owned
  ~PJRT_Executable();
};

struct PJRT_LoadedExecutable {
  PJRT_LoadedExecutable(std::unique_ptr<shoal::PjRtLoadedExecutable> made, PJRT_Client* client);
  std::unique_ptr<shoal::PjRtLoadedExecutable> executable;
  PJRT_Client* client;
  std::string fingerprint;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_LogicalDeviceIds> logical_ids;
};

struct PJRT_FulfillAliasBufferCallback {
  std::unique_ptr<shoal::AliasFulfillment> fulfillment;
};

struct PJRT_ExecuteContext {
  shoal::UserData user_data;
};

struct PJRT_AsyncHostToDeviceTransferManager {
  std::unique_ptr<shoal::AsyncHostToDeviceTransferManager> manager;
  PJRT_Client* client;
};

struct PJRT_Layouts_MemoryLayout {
  std::string text;  // "{1,0}"
};

namespace shoal {

// PJRT_Memory is the one handle whose first member the header fixes: functions to attach a caller's data.
struct MemoryHandle : PJRT_Memory {
  MemoryHandle(PjRtMemorySpace* space, PJRT_Device* device);
  ~MemoryHandle();
  PjRtMemorySpace* space;
  PJRT_Device* device;
  struct UserData {
    void* data;
    void (*deleter)(void*);
  };
  std::mutex mutex;
  absl::flat_hash_map<const void*, UserData> user_data;  // guarded by mutex
};
inline MemoryHandle* Handle(PJRT_Memory* memory) { return static_cast<MemoryHandle*>(memory); }

// The caller owns the answer.
inline PJRT_Buffer* NewBuffer(std::unique_ptr<PjRtBuffer> buffer, PJRT_Client* client) {
  return new PJRT_Buffer{std::move(buffer), client};
}
inline PJRT_Event* NewEvent(Future future) { return new PJRT_Event{std::move(future), nullptr}; }

// The memory that two alternative arguments name: `memory`, or else `device`'s default. InvalidArgument for
// neither or for a device of another process.
absl::StatusOr<PjRtMemorySpace*> SpaceOf(PJRT_Memory* memory, PJRT_Device* device);

}  // namespace shoal
