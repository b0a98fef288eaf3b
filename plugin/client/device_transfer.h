// An array from a device of one process to one of another. Both processes say so, the sender here and the
// receiver there, under a key that they have counted alike; neither call waits.
//
// Goes through the communicator of the two devices: a peer that dies, is missing or sends another size
// becomes an error that names it, as for any collective.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/tasks/future.h"
#include "plugin/client/buffer.h"

namespace shoal {

// The future is set when `buffer` has gone. One that is not row-major is copied first.
absl::StatusOr<Future> SendToDevice(PjRtBuffer& buffer, DeviceId target, int64_t key);
// A buffer that is defined when the array has come.
absl::StatusOr<std::unique_ptr<PjRtBuffer>> ReceiveFromDevice(const Shape& shape, PjRtDevice* device,
                                                              DeviceId source, int64_t key);

}  // namespace shoal
