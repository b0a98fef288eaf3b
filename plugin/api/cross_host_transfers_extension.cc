// The cross-host transfers extension: jax.device_put between devices of different processes.
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "plugin/api/cross_host_transfers.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"
#include "plugin/client/device_transfer.h"

namespace shoal {
namespace {

constexpr char kName[] = "cross-host transfers extension";

// The caller frees what it is given only where all went well.
absl::Status Send(CrossHostSendArgs& args) {
  std::vector<Future> all;
  for (size_t i = 0; i < args.num_buffers; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Future sent,
                           SendToDevice(*args.buffers[i]->buffer, DeviceId(args.dst_global_device_ids[i]),
                                        args.transfer_keys[i]));
    all.push_back(std::move(sent));
  }
  for (size_t i = 0; i < args.num_buffers; ++i) args.send_events[i] = NewEvent(std::move(all[i]));
  return absl::OkStatus();
}

absl::Status Receive(CrossHostReceiveArgs& args) {
  std::vector<std::unique_ptr<PjRtBuffer>> all;
  for (size_t i = 0; i < args.num_shapes; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape,
                           ShapeOf(args.element_types[i], args.num_dims[i], args.shape_num_dims[i]));
    SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.layouts == nullptr ? nullptr : args.layouts[i]));
    SHOAL_ASSIGN_OR_RETURN(
        auto buffer, ReceiveFromDevice(shape, args.device->device, DeviceId(args.src_global_device_ids[i]),
                                       args.transfer_keys[i]));
    all.push_back(std::move(buffer));
  }
  for (size_t i = 0; i < args.num_shapes; ++i) args.buffers[i] = NewBuffer(std::move(all[i]), args.client);
  return absl::OkStatus();
}

PJRT_Error* MakeReceiveBuffers(void*) {
  return NotImplemented("PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers");
}
void CopyToRemoteDevice(CopyToRemoteDeviceArgs* args) {
  args->on_done(NotImplemented("PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice"), false, args->user_arg);
}

}  // namespace

PJRT_Extension_Base* CrossHostTransfersExtension(PJRT_Extension_Base* next) {
  static CrossHostTransfersExtensionTable extension = {
      .base = {.struct_size = sizeof(CrossHostTransfersExtensionTable),
               .type = PJRT_Extension_Type_CrossHostTransfers,
               .next = next},
      .make_receive_buffers = MakeReceiveBuffers,
      .copy_to_remote_device = CopyToRemoteDevice,
      .receive = ExtensionEntry<kName, Receive>,
      .send = ExtensionEntry<kName, Send>,
  };
  return &extension.base;
}

}  // namespace shoal
