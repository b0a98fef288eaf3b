// PJRT_AsyncHostToDeviceTransferManager.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"

namespace shoal {
namespace {

absl::Status Create(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args.shape_specs[i];
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(spec.element_type, spec.dims, spec.num_dims));
    if (args.device_layouts != nullptr && i < args.num_device_layouts) {
      SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.device_layouts[i]));
    }
    shapes.push_back(std::move(shape));
  }
  PJRT_Device* first_device = args.client->addressable_devices.front();
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.memory, first_device));
  SHOAL_ASSIGN_OR_RETURN(auto manager, AsyncHostToDeviceTransferManager::Create(shapes, space));
  args.transfer_manager = new PJRT_AsyncHostToDeviceTransferManager{std::move(manager), args.client};
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& args) {
  delete args.transfer_manager;
  return absl::OkStatus();
}

absl::Status TransferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(
      Future done, args.transfer_manager->manager->TransferData(args.buffer_index, args.data, args.offset,
                                                                args.transfer_size, args.is_last_transfer));
  args.done_with_h2d_transfer = NewEvent(std::move(done));
  return absl::OkStatus();
}

absl::Status TransferLiteral(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  AsyncHostToDeviceTransferManager& manager = *args.transfer_manager->manager;
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  SHOAL_ASSIGN_OR_RETURN(const Shape* wanted, manager.buffer_shape(args.buffer_index));
  if (shape != *wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("a literal ", shape.ToString(), " for a buffer of ", wanted->ToString()));
  }
  SHOAL_ASSIGN_OR_RETURN(DimVector strides, HostByteStrides(shape, args.shape_layout));
  SHOAL_ASSIGN_OR_RETURN(Future done, manager.TransferLiteral(args.buffer_index, args.data, strides));
  args.done_with_h2d_transfer = NewEvent(std::move(done));
  return absl::OkStatus();
}

absl::Status RetrieveBuffer(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(auto buffer, args.transfer_manager->manager->RetrieveBuffer(args.buffer_index));
  args.buffer_out = NewBuffer(std::move(buffer), args.transfer_manager->client);
  return absl::OkStatus();
}

absl::Status Device(PJRT_AsyncHostToDeviceTransferManager_Device_Args& args) {
  args.device_out = args.transfer_manager->client->Of(args.transfer_manager->manager->device());
  return absl::OkStatus();
}

absl::Status BufferCount(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& args) {
  args.buffer_count = args.transfer_manager->manager->buffer_count();
  return absl::OkStatus();
}

absl::Status BufferSize(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(args.buffer_size, args.transfer_manager->manager->buffer_size(args.buffer_index));
  return absl::OkStatus();
}

absl::Status SetBufferError(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& args) {
  return args.transfer_manager->manager->SetBufferError(
      args.buffer_index, StatusOf(args.error_code, args.error_message, args.error_message_size));
}

// Notes for profilers; there is nothing to do with them.
absl::Status AddMetadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args&) { return absl::OkStatus(); }

}  // namespace

void BindTransfer(PJRT_Api& api) {
  SHOAL_BIND(api, Client_CreateBuffersForAsyncHostToDevice, Create);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_Destroy, Destroy);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_TransferData, TransferData);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_TransferLiteral, TransferLiteral);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_RetrieveBuffer, RetrieveBuffer);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_Device, Device);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_BufferCount, BufferCount);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_BufferSize, BufferSize);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_SetBufferError, SetBufferError);
  SHOAL_BIND(api, AsyncHostToDeviceTransferManager_AddMetadata, AddMetadata);
}

}  // namespace shoal
