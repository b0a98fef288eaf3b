#include "plugin/client/transfer_manager.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/tasks/arena.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

// Up to here a piece is copied on the caller's thread.
constexpr int64_t kInlinePieceBytes = int64_t{1} << 20;

}  // namespace

struct AsyncHostToDeviceTransferManager::Slot {
  Shape shape;
  std::shared_ptr<DeviceMemory> memory;
  Promise promise;
  std::mutex mutex;
  // Guarded by mutex.
  std::unique_ptr<PjRtBuffer> buffer;  // null once retrieved
  int pending = 0;
  bool last_came = false;

  void PieceDone() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (--pending > 0 || !last_came) return;
    }
    promise.Set(absl::OkStatus());
  }
};

absl::StatusOr<std::unique_ptr<AsyncHostToDeviceTransferManager>> AsyncHostToDeviceTransferManager::Create(
    absl::Span<const Shape> shapes, PjRtMemorySpace* space) {
  std::unique_ptr<AsyncHostToDeviceTransferManager> manager(new AsyncHostToDeviceTransferManager(space));
  for (const Shape& shape : shapes) {
    auto slot = std::make_shared<Slot>();
    slot->shape = shape;
    SHOAL_ASSIGN_OR_RETURN(slot->memory,
                           DeviceMemory::Allocate(space->device()->allocator(), shape.ByteSize(),
                                                  absl::StrCat("transfer of ", shape.ToString())));
    slot->buffer = std::make_unique<PjRtBuffer>(shape, space, slot->memory, slot->promise.future());
    manager->slots_.push_back(std::move(slot));
  }
  return manager;
}

AsyncHostToDeviceTransferManager::~AsyncHostToDeviceTransferManager() {
  for (const auto& slot : slots_) {
    bool abandoned;
    {
      std::lock_guard<std::mutex> lock(slot->mutex);
      abandoned = !slot->last_came;
    }
    if (abandoned) {
      slot->promise.Set(absl::CancelledError(
          absl::StrCat("the transfer of ", slot->shape.ToString(), " was given up before its last piece")));
    }
  }
}

absl::Status AsyncHostToDeviceTransferManager::CheckIndex(int index) const {
  if (index >= 0 && index < static_cast<int>(slots_.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("buffer ", index, " of a transfer of ", slots_.size()));
}

absl::StatusOr<int64_t> AsyncHostToDeviceTransferManager::buffer_size(int index) const {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  return slots_[index]->shape.ByteSize();
}

absl::StatusOr<const Shape*> AsyncHostToDeviceTransferManager::buffer_shape(int index) const {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  return &slots_[index]->shape;
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> AsyncHostToDeviceTransferManager::RetrieveBuffer(int index) {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  std::lock_guard<std::mutex> lock(slots_[index]->mutex);
  if (slots_[index]->buffer == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("buffer ", index, " of a transfer was retrieved before"));
  }
  return std::move(slots_[index]->buffer);
}

Future AsyncHostToDeviceTransferManager::Copy(std::shared_ptr<Slot> slot, int64_t bytes, bool is_last,
                                              std::function<void()> copy) {
  {
    std::lock_guard<std::mutex> lock(slot->mutex);
    ++slot->pending;
    slot->last_came |= is_last;
  }
  if (bytes <= kInlinePieceBytes) {
    copy();
    slot->PieceDone();
    return Future();
  }
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  Arena::Get().Submit([slot = std::move(slot), promise, copy = std::move(copy)] {
    copy();
    promise->Set(absl::OkStatus());
    slot->PieceDone();
  });
  return done;
}

absl::StatusOr<Future> AsyncHostToDeviceTransferManager::TransferData(int index, const void* data,
                                                                      int64_t offset, int64_t bytes,
                                                                      bool is_last) {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  const std::shared_ptr<Slot>& slot = slots_[index];
  if (offset < 0 || bytes < 0 || offset > slot->memory->bytes() || bytes > slot->memory->bytes() - offset) {
    return absl::InvalidArgumentError(absl::StrCat(bytes, " bytes at offset ", offset, " of a transfer of ",
                                                   slot->shape.ToString(), ", which has ",
                                                   slot->memory->bytes(), " bytes"));
  }
  return Copy(slot, bytes, is_last, [memory = slot->memory, data, offset, bytes] {
    CopyBytes(static_cast<const char*>(data), memory->data() + offset, bytes);
  });
}

absl::StatusOr<Future> AsyncHostToDeviceTransferManager::TransferLiteral(
    int index, const void* data, absl::Span<const int64_t> byte_strides) {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  const std::shared_ptr<Slot>& slot = slots_[index];
  DimVector strides(byte_strides.begin(), byte_strides.end());
  return Copy(slot, slot->memory->bytes(), /*is_last=*/true,
              [memory = slot->memory, shape = slot->shape, data, strides = std::move(strides)] {
                CopyToDevice(shape, static_cast<const char*>(data), strides, memory->data());
              });
}

absl::Status AsyncHostToDeviceTransferManager::SetBufferError(int index, absl::Status error) {
  SHOAL_RETURN_IF_ERROR(CheckIndex(index));
  {
    std::lock_guard<std::mutex> lock(slots_[index]->mutex);
    slots_[index]->last_came = true;
  }
  slots_[index]->promise.Set(std::move(error));
  return absl::OkStatus();
}

}  // namespace shoal
