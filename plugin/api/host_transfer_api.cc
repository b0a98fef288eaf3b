// PJRT_CopyToDeviceStream, and the callbacks that get one or a PJRT_Chunk.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/handles.h"
#include "plugin/api/host_callbacks.h"

struct PJRT_CopyToDeviceStream {
  std::unique_ptr<shoal::CopyToDeviceStream> stream;
};

namespace shoal {
namespace {

absl::Status Destroy(PJRT_CopyToDeviceStream_Destroy_Args& args) {
  delete args.stream;
  return absl::OkStatus();
}

absl::Status AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args& args) {
  const PJRT_Chunk given = *args.chunk;
  PjRtChunk chunk(given.data, static_cast<int64_t>(given.size), [given](void* data) {
    if (given.deleter != nullptr) given.deleter(data, given.deleter_arg);
  });
  args.transfer_complete = NewEvent(args.stream->stream->AddChunk(std::move(chunk)));
  return absl::OkStatus();
}

absl::Status TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args& args) {
  args.total_bytes = args.stream->stream->total_bytes();
  return absl::OkStatus();
}

absl::Status GranuleSize(PJRT_CopyToDeviceStream_GranuleSize_Args& args) {
  args.granule_size_in_bytes = args.stream->stream->granule_size_in_bytes();
  return absl::OkStatus();
}

absl::Status CurrentBytes(PJRT_CopyToDeviceStream_CurrentBytes_Args& args) {
  args.current_bytes = args.stream->stream->current_bytes();
  return absl::OkStatus();
}

PJRT_Error* CallbackError(PJRT_Error_Code code, const char* message, size_t message_size) {
  return ToError(StatusOf(code, message, message_size));
}

SendCallback SendCallbackOf(const PJRT_SendCallbackInfo& info) {
  return {info.channel_id, [info](PjRtChunk chunk, int64_t total_bytes, bool done) {
            auto* kept = new PjRtChunk(std::move(chunk));
            PJRT_Chunk lent = {.data = kept->data(),
                               .size = static_cast<size_t>(kept->size()),
                               .deleter = [](void*, void* kept) { delete static_cast<PjRtChunk*>(kept); },
                               .deleter_arg = kept};
            PJRT_CallbackError make_error = &CallbackError;
            return TakeError(info.send_callback(&lent, &make_error, static_cast<size_t>(total_bytes), done,
                                                info.user_arg));
          }};
}

RecvCallback RecvCallbackOf(const PJRT_RecvCallbackInfo& info) {
  return {info.channel_id, [info](std::unique_ptr<CopyToDeviceStream> stream) {
            info.recv_callback(new PJRT_CopyToDeviceStream{std::move(stream)}, info.user_arg);
          }};
}

}  // namespace

absl::StatusOr<std::vector<HostCallbacks>> HostCallbacksOf(const PJRT_ExecuteOptions& options,
                                                           size_t num_devices) {
  std::vector<HostCallbacks> devices;
  if (options.num_send_ops == 0 && options.num_recv_ops == 0) return devices;
  if ((options.num_send_ops > 0 && options.send_callbacks == nullptr) ||
      (options.num_recv_ops > 0 && options.recv_callbacks == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("PJRT_ExecuteOptions names ", options.num_send_ops,
                                                   " send and ", options.num_recv_ops,
                                                   " recv callbacks without a list of them"));
  }
  for (size_t d = 0; d < num_devices; ++d) {
    HostCallbacks& callbacks = devices.emplace_back();
    for (size_t i = 0; i < options.num_send_ops; ++i)
      callbacks.send.push_back(SendCallbackOf(options.send_callbacks[d][i]));
    for (size_t i = 0; i < options.num_recv_ops; ++i)
      callbacks.recv.push_back(RecvCallbackOf(options.recv_callbacks[d][i]));
  }
  return devices;
}

void BindHostTransfer(PJRT_Api& api) {
  SHOAL_BIND(api, CopyToDeviceStream_Destroy, Destroy);
  SHOAL_BIND(api, CopyToDeviceStream_AddChunk, AddChunk);
  SHOAL_BIND(api, CopyToDeviceStream_TotalBytes, TotalBytes);
  SHOAL_BIND(api, CopyToDeviceStream_GranuleSize, GranuleSize);
  SHOAL_BIND(api, CopyToDeviceStream_CurrentBytes, CurrentBytes);
}

}  // namespace shoal
