// PJRT_Buffer.
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"

namespace shoal {
namespace {

absl::Status Destroy(PJRT_Buffer_Destroy_Args& args) {
  delete args.buffer;
  return absl::OkStatus();
}

absl::Status ElementTypeOfBuffer(PJRT_Buffer_ElementType_Args& args) {
  args.type = BufferTypeOf(args.buffer->buffer->shape().element_type());
  return absl::OkStatus();
}

absl::Status Dimensions(PJRT_Buffer_Dimensions_Args& args) {
  absl::Span<const int64_t> dims = args.buffer->buffer->shape().dims();
  args.dims = dims.data();
  args.num_dims = dims.size();
  return absl::OkStatus();
}

// All dimensions are static.
absl::Status UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  absl::Span<const int64_t> dims = args.buffer->buffer->shape().dims();
  args.unpadded_dims = dims.data();
  args.num_dims = dims.size();
  return absl::OkStatus();
}

absl::Status DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return absl::OkStatus();
}

absl::Status GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  const int64_t rank = args.buffer->buffer->shape().rank();
  const std::vector<int64_t>& layout = args.buffer->buffer->minor_to_major();
  args.layout = {};
  args.layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  args.layout.tiled.minor_to_major = layout.empty() ? DescendingDims(rank) : layout.data();
  args.layout.tiled.minor_to_major_size = rank;
  return absl::OkStatus();
}

absl::Status OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  args.on_device_size_in_bytes = args.buffer->buffer->shape().ByteSize();
  return absl::OkStatus();
}

absl::Status Device(PJRT_Buffer_Device_Args& args) {
  args.device = args.buffer->client->Of(args.buffer->buffer->device());
  return absl::OkStatus();
}

absl::Status Memory(PJRT_Buffer_Memory_Args& args) {
  args.memory = args.buffer->client->Of(args.buffer->buffer->memory_space());
  return absl::OkStatus();
}

absl::Status Delete(PJRT_Buffer_Delete_Args& args) {
  args.buffer->buffer->Delete();
  return absl::OkStatus();
}

absl::Status IsDeleted(PJRT_Buffer_IsDeleted_Args& args) {
  args.is_deleted = args.buffer->buffer->IsDeleted();
  return absl::OkStatus();
}

absl::Status CopyToSpace(PJRT_Buffer* buffer, PjRtMemorySpace* space, PJRT_Buffer*& out) {
  SHOAL_ASSIGN_OR_RETURN(auto copy, buffer->buffer->CopyToMemorySpace(space));
  out = NewBuffer(std::move(copy), buffer->client);
  return absl::OkStatus();
}

absl::Status CopyToDevice(PJRT_Buffer_CopyToDevice_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(nullptr, args.dst_device));
  return CopyToSpace(args.buffer, space, args.dst_buffer);
}

absl::Status CopyToMemory(PJRT_Buffer_CopyToMemory_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.dst_memory, nullptr));
  return CopyToSpace(args.buffer, space, args.dst_buffer);
}

absl::Status ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& args) {
  PjRtBuffer& buffer = *args.src->buffer;
  SHOAL_ASSIGN_OR_RETURN(DimVector strides, HostByteStrides(buffer.shape(), args.host_layout));
  const size_t needed = buffer.shape().ByteSize();
  if (args.dst == nullptr) {
    args.dst_size = needed;
    return absl::OkStatus();
  }
  if (args.dst_size < needed) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", args.dst_size, " bytes on the host, ",
                                                   buffer.shape().ToString(), " has ", needed));
  }
  args.event = NewEvent(buffer.ToHost(args.dst, strides));
  return absl::OkStatus();
}

absl::Status CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& args) {
  args.event = NewEvent(args.buffer->buffer->CopyRawToHost(args.dst, args.offset, args.transfer_size));
  return absl::OkStatus();
}

using StartCopy = std::function<void(absl::StatusOr<void*>)>;

// The caller tells the target of the copy later, once.
void StartDeferredCopy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  const std::unique_ptr<StartCopy> start(static_cast<StartCopy*>(args->callback_data));
  const absl::Status status = StatusOf(args->error_code, args->error_message, args->error_message_size);
  (*start)(status.ok() ? absl::StatusOr<void*>(args->dst) : status);
}

absl::Status CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtBuffer::DeferredCopy copy,
                         args.buffer->buffer->CopyRawToHostLater(args.offset, args.transfer_size));
  args.event = NewEvent(std::move(copy.done));
  args.callback_data = new StartCopy(std::move(copy.start));
  args.future_ready_callback = StartDeferredCopy;
  return absl::OkStatus();
}

absl::Status Bitcast(PJRT_Buffer_Bitcast_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.element_type, args.dims, args.num_dims));
  SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.device_layout));
  SHOAL_ASSIGN_OR_RETURN(auto cast, args.buffer->buffer->Bitcast(shape));
  args.out_buffer = NewBuffer(std::move(cast), args.buffer->client);
  return absl::OkStatus();
}

absl::Status IsOnCpu(PJRT_Buffer_IsOnCpu_Args& args) {
  args.is_on_cpu = true;
  return absl::OkStatus();
}

absl::Status ReadyEvent(PJRT_Buffer_ReadyEvent_Args& args) {
  args.event = NewEvent(args.buffer->buffer->GetReadyFuture());
  return absl::OkStatus();
}

absl::Status UnsafePointer(PJRT_Buffer_UnsafePointer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(void* data, args.buffer->buffer->UnsafePointer());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(data);
  return absl::OkStatus();
}

absl::Status OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(args.device_memory_ptr, args.buffer->buffer->UnsafePointer());
  return absl::OkStatus();
}

absl::Status IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  return args.buffer->buffer->IncreaseExternalReferenceCount();
}

absl::Status DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  return args.buffer->buffer->DecreaseExternalReferenceCount();
}

// The new buffer's contents are whole once the old one's are and the caller has called back, which it does
// once.
absl::Status DonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args& args) {
  PjRtBuffer& buffer = *args.buffer->buffer;
  SHOAL_ASSIGN_OR_RETURN(PjRtBuffer::Use use, buffer.TryDonate());
  if (use.memory == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("donating ", buffer.shape().ToString(),
                     ": somebody outside or another buffer holds its memory; copy it instead"));
  }
  auto* dependency = new Promise;
  const Future definition = Join({use.definition, dependency->future()});
  args.callback_data = dependency;
  args.dependency_ready_callback = [](PJRT_Buffer_DonateWithControlDependency_Callback_Args* ready) {
    auto* dependency = static_cast<Promise*>(ready->callback_data);
    dependency->Set(StatusOf(ready->error_code, ready->error_message, ready->error_message_size));
    delete dependency;
  };
  args.out_buffer =
      NewBuffer(std::make_unique<PjRtBuffer>(buffer.shape(), buffer.memory_space(), std::move(use.memory),
                                             definition, buffer.minor_to_major()),
                args.buffer->client);
  return absl::OkStatus();
}

}  // namespace

void BindBuffer(PJRT_Api& api) {
  SHOAL_BIND(api, Buffer_Destroy, Destroy);
  SHOAL_BIND(api, Buffer_ElementType, ElementTypeOfBuffer);
  SHOAL_BIND(api, Buffer_Dimensions, Dimensions);
  SHOAL_BIND(api, Buffer_UnpaddedDimensions, UnpaddedDimensions);
  SHOAL_BIND(api, Buffer_DynamicDimensionIndices, DynamicDimensionIndices);
  SHOAL_BIND(api, Buffer_GetMemoryLayout, GetMemoryLayout);
  SHOAL_BIND(api, Buffer_OnDeviceSizeInBytes, OnDeviceSizeInBytes);
  SHOAL_BIND(api, Buffer_Device, Device);
  SHOAL_BIND(api, Buffer_Memory, Memory);
  SHOAL_BIND(api, Buffer_Delete, Delete);
  SHOAL_BIND(api, Buffer_IsDeleted, IsDeleted);
  SHOAL_BIND(api, Buffer_CopyToDevice, CopyToDevice);
  SHOAL_BIND(api, Buffer_CopyToMemory, CopyToMemory);
  SHOAL_BIND(api, Buffer_ToHostBuffer, ToHostBuffer);
  SHOAL_BIND(api, Buffer_CopyRawToHost, CopyRawToHost);
  SHOAL_BIND(api, Buffer_CopyRawToHostFuture, CopyRawToHostFuture);
  SHOAL_BIND(api, Buffer_Bitcast, Bitcast);
  SHOAL_BIND(api, Buffer_IsOnCpu, IsOnCpu);
  SHOAL_BIND(api, Buffer_ReadyEvent, ReadyEvent);
  SHOAL_BIND(api, Buffer_UnsafePointer, UnsafePointer);
  SHOAL_BIND(api, Buffer_OpaqueDeviceMemoryDataPointer, OpaqueDeviceMemoryDataPointer);
  SHOAL_BIND(api, Buffer_IncreaseExternalReferenceCount, IncreaseExternalReferenceCount);
  SHOAL_BIND(api, Buffer_DecreaseExternalReferenceCount, DecreaseExternalReferenceCount);
  SHOAL_BIND(api, Buffer_DonateWithControlDependency, DonateWithControlDependency);
}

}  // namespace shoal
