// AsyncHostToDeviceTransferManager: buffers that the caller fills piece by piece.
//
// All buffers are allocated at once and may be retrieved and used at once; each is defined when the piece
// that the caller calls its last has been copied and so have all before it. Thread-safe. Destroying it fails
// every buffer whose last piece did not come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/tasks/future.h"
#include "plugin/client/buffer.h"

namespace shoal {

class AsyncHostToDeviceTransferManager {
 public:
  static absl::StatusOr<std::unique_ptr<AsyncHostToDeviceTransferManager>> Create(
      absl::Span<const Shape> shapes, PjRtMemorySpace* space);
  ~AsyncHostToDeviceTransferManager();

  PjRtDevice* device() const { return space_->device(); }
  size_t buffer_count() const { return slots_.size(); }
  absl::StatusOr<int64_t> buffer_size(int index) const;
  absl::StatusOr<const Shape*> buffer_shape(int index) const;
  // Once a buffer; FailedPrecondition the second time.
  absl::StatusOr<std::unique_ptr<PjRtBuffer>> RetrieveBuffer(int index);
  // `bytes` of the dense contents to `offset`. The future tells when `data` is the caller's again.
  absl::StatusOr<Future> TransferData(int index, const void* data, int64_t offset, int64_t bytes,
                                      bool is_last);
  // The whole array, laid out by `byte_strides`; the last piece.
  absl::StatusOr<Future> TransferLiteral(int index, const void* data, absl::Span<const int64_t> byte_strides);
  absl::Status SetBufferError(int index, absl::Status error);

 private:
  struct Slot;
  explicit AsyncHostToDeviceTransferManager(PjRtMemorySpace* space) : space_(space) {}
  absl::Status CheckIndex(int index) const;
  static Future Copy(std::shared_ptr<Slot> slot, int64_t bytes, bool is_last, std::function<void()> copy);

  PjRtMemorySpace* const space_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace shoal
