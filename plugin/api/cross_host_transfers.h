// The cross-host transfers extension's structs, which the pinned headers lack. Layouts are those of XLA's
// pjrt_c_api_cross_host_transfers_extension.h; its strong numbers are an int and an int64_t in C.
#pragma once

#include "xla/pjrt/c/pjrt_c_api.h"

namespace shoal {

struct CrossHostSendArgs {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_buffers;
  PJRT_Buffer** buffers;
  const int32_t* dst_global_device_ids;
  const int64_t* transfer_keys;
  PJRT_Event** send_events;  // out, as many as buffers
};

struct CrossHostReceiveArgs {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_shapes;
  size_t* shape_num_dims;
  const int64_t** num_dims;  // the dimensions
  PJRT_Buffer_Type* element_types;
  PJRT_Buffer_MemoryLayout** layouts;
  PJRT_Device* device;
  const int32_t* src_global_device_ids;
  const int64_t* transfer_keys;
  PJRT_Buffer** buffers;  // out, as many as shapes
};

struct CopyToRemoteDeviceArgs {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Event* event;
  char** serialized_descriptor;
  size_t* serialized_descriptor_size;
  void* user_arg;
  void (*on_done)(PJRT_Error* error, bool sends_were_enqueued, void* user_arg);
};

// The first two entries are an older way, by descriptors through the caller's key-value store.
struct CrossHostTransfersExtensionTable {
  PJRT_Extension_Base base;
  PJRT_Error* (*make_receive_buffers)(void* args);
  void (*copy_to_remote_device)(CopyToRemoteDeviceArgs* args);
  PJRT_Error* (*receive)(CrossHostReceiveArgs* args);
  PJRT_Error* (*send)(CrossHostSendArgs* args);
};

PJRT_Extension_Base* CrossHostTransfersExtension(PJRT_Extension_Base* next);

}  // namespace shoal
