// PjRtBuffer: an array on a device, perhaps not written yet.
//
// A buffer shows a DeviceMemory and knows when its contents are whole (the definition) and which uses of them
// have not ended. Readers take a use: it keeps the memory alive, so Delete returns at once and the memory
// goes when the last use has ended. Donation takes the memory out of the buffer, which counts as deleted from
// then on; who gets it writes only after definition and all uses. A failed definition poisons whatever is
// computed from the buffer.
//
// Owned by the caller of the client or executable that made it; must not outlive the client. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/tasks/future.h"
#include "core/types/shape.h"
#include "plugin/client/device.h"
#include "plugin/client/device_memory.h"

namespace shoal {

class PjRtBuffer {
 public:
  // What a reader gets: memory that stays, and when its contents are whole.
  struct Use {
    std::shared_ptr<DeviceMemory> memory;
    Future definition;
  };

  PjRtBuffer(Shape shape, PjRtMemorySpace* space, std::shared_ptr<DeviceMemory> memory, Future definition,
             std::vector<int64_t> minor_to_major = {})
      : shape_(std::move(shape)),
        minor_to_major_(std::move(minor_to_major)),
        space_(space),
        memory_(std::move(memory)),
        definition_(std::move(definition)) {}
  // Memory of its own, to be written by whoever sets `definition`.
  static absl::StatusOr<std::unique_ptr<PjRtBuffer>> Allocate(Shape shape, PjRtMemorySpace* space,
                                                              Future definition, absl::string_view label);
  PjRtBuffer(const PjRtBuffer&) = delete;
  ~PjRtBuffer();

  const Shape& shape() const { return shape_; }
  // How it lies in memory; empty: row-major.
  const std::vector<int64_t>& minor_to_major() const { return minor_to_major_; }
  PjRtMemorySpace* memory_space() const { return space_; }
  PjRtDevice* device() const { return space_->device(); }
  PjRtClient* client() const { return space_->device()->client(); }

  // Ready when the contents are, with the error of what should have made them; of a deleted or donated buffer
  // an InvalidArgument.
  Future GetReadyFuture() const;
  void Delete();
  bool IsDeleted() const;

  // Copies to `target`, laid out by `byte_strides`. Returns when the caller may forget `byte_strides`; the
  // future is set when `target` is whole.
  Future ToHost(void* target, absl::Span<const int64_t> byte_strides);
  // `bytes` of the dense contents from `offset`.
  Future CopyRawToHost(void* target, int64_t offset, int64_t bytes);
  // The same, to where the caller says later, by calling `start` once, with the target or with the error that
  // takes its place. Whoever is donated the memory writes it after `done`.
  struct DeferredCopy {
    std::function<void(absl::StatusOr<void*> target)> start;
    Future done;
  };
  absl::StatusOr<DeferredCopy> CopyRawToHostLater(int64_t offset, int64_t bytes);
  absl::StatusOr<std::unique_ptr<PjRtBuffer>> CopyToMemorySpace(PjRtMemorySpace* space);
  // The same memory as another shape of the same size, which is row-major if it is another. Neither of the
  // two can be donated after that.
  absl::StatusOr<std::unique_ptr<PjRtBuffer>> Bitcast(const Shape& shape);

  // While the count is above 0 somebody outside (NumPy, DLPack) sees the memory: it stays where it is, even
  // when the buffer is deleted, and donating the buffer copies it.
  absl::Status IncreaseExternalReferenceCount();
  absl::Status DecreaseExternalReferenceCount();
  // The memory's address, whether its contents are whole or not.
  absl::StatusOr<void*> UnsafePointer() const;

  // InvalidArgument if the buffer is deleted or donated; `what` says what for. Each use that was given wants
  // one EndUse, soon: until then the buffer cannot be donated.
  absl::StatusOr<Use> AcquireUse(absl::string_view what);
  // The use ends with `end`: donation waits for it.
  void EndUse(const Future& end);
  // Somebody who keeps the memory reads it until `end`: donation waits for that too.
  void AddReader(const Future& end);
  // Takes the memory out if nobody outside sees it and it may be written; the definition is then that of the
  // contents and of all uses. Otherwise nothing is taken, and the memory of the answer is null.
  absl::StatusOr<Use> TryDonate();

 private:
  absl::Status DeletedError(absl::string_view what) const;
  absl::Status CheckRange(int64_t offset, int64_t bytes) const;
  void AddUse(const Future& end);  // REQUIRES: mutex_ held

  const Shape shape_;
  const std::vector<int64_t> minor_to_major_;
  PjRtMemorySpace* const space_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<DeviceMemory> memory_;  // null once deleted or donated
  Future definition_;
  int open_uses_ = 0;  // acquired, and not told yet when they end
  absl::InlinedVector<Future, 2> uses_;
  int external_references_ = 0;
  std::shared_ptr<DeviceMemory> external_memory_;  // kept for them
  bool aliased_ = false;                           // another buffer shows the same memory
  bool donated_ = false;
};

}  // namespace shoal
