#include "plugin/client/buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/tasks/arena.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

// Runs `copy` once `use` is defined: at once if it is and there is little to copy, else on the arena.
Future CopyWhenDefined(const PjRtBuffer::Use& use, int64_t bytes, std::function<void()> copy) {
  if (use.definition.IsReady()) {
    if (!use.definition.status().ok()) return use.definition;
    if (bytes <= kInlineCopyBytes) {
      copy();
      return Future();
    }
  }
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  use.definition.Then([promise, copy = std::move(copy)](const absl::Status& status) {
    if (!status.ok()) {
      promise->Set(status);
      return;
    }
    Arena::Get().Submit([promise, copy] {
      copy();
      promise->Set(absl::OkStatus());
    });
  });
  return done;
}

Future CopyRaw(const PjRtBuffer::Use& use, void* target, int64_t offset, int64_t bytes) {
  return CopyWhenDefined(use, bytes, [memory = use.memory, target, offset, bytes] {
    CopyBytes(memory->data() + offset, static_cast<char*>(target), bytes);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<PjRtBuffer>> PjRtBuffer::Allocate(Shape shape, PjRtMemorySpace* space,
                                                                 Future definition, absl::string_view label) {
  SHOAL_ASSIGN_OR_RETURN(auto memory,
                         DeviceMemory::Allocate(space->device()->allocator(), shape.ByteSize(), label));
  return std::make_unique<PjRtBuffer>(std::move(shape), space, std::move(memory), std::move(definition));
}

PjRtBuffer::~PjRtBuffer() { Delete(); }

absl::Status PjRtBuffer::DeletedError(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": the buffer ", shape_.ToString(), " on ", space_->device()->description().debug_string,
      donated_ ? " was donated to an execution" : " was deleted", "; use the array that replaced it"));
}

Future PjRtBuffer::GetReadyFuture() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ == nullptr) return DeletedError("waiting for a buffer");
  return definition_;
}

void PjRtBuffer::Delete() {
  std::shared_ptr<DeviceMemory> dropped;  // released after the lock: its end may call out
  std::lock_guard<std::mutex> lock(mutex_);
  dropped = std::move(memory_);
  memory_ = nullptr;
  uses_.clear();
}

bool PjRtBuffer::IsDeleted() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_ == nullptr;
}

Future PjRtBuffer::ToHost(void* target, absl::Span<const int64_t> byte_strides) {
  auto use = AcquireUse("copying a buffer to the host");
  if (!use.ok()) return use.status();
  DimVector strides(byte_strides.begin(), byte_strides.end());
  DimVector own =
      minor_to_major_.empty() ? RowMajorByteStrides(shape_) : *ByteStridesOfLayout(shape_, minor_to_major_);
  Future done = CopyWhenDefined(
      *use, shape_.ByteSize(),
      [memory = use->memory, shape = shape_, own = std::move(own), target, strides = std::move(strides)] {
        CopyStrided(shape, memory->data(), own, static_cast<char*>(target), strides);
      });
  EndUse(done);
  return done;
}

absl::Status PjRtBuffer::CheckRange(int64_t offset, int64_t bytes) const {
  if (offset >= 0 && bytes >= 0 && offset <= shape_.ByteSize() && bytes <= shape_.ByteSize() - offset)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("copying ", bytes, " bytes from offset ", offset, " of ",
                                                 shape_.ToString(), ", which has ", shape_.ByteSize(),
                                                 " bytes"));
}

Future PjRtBuffer::CopyRawToHost(void* target, int64_t offset, int64_t bytes) {
  if (absl::Status status = CheckRange(offset, bytes); !status.ok()) return status;
  auto use = AcquireUse("copying a buffer to the host");
  if (!use.ok()) return use.status();
  Future done = CopyRaw(*use, target, offset, bytes);
  EndUse(done);
  return done;
}

absl::StatusOr<PjRtBuffer::DeferredCopy> PjRtBuffer::CopyRawToHostLater(int64_t offset, int64_t bytes) {
  SHOAL_RETURN_IF_ERROR(CheckRange(offset, bytes));
  SHOAL_ASSIGN_OR_RETURN(Use use, AcquireUse("copying a buffer to the host"));
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  EndUse(done);
  return DeferredCopy{[promise, use = std::move(use), offset, bytes](absl::StatusOr<void*> target) {
                        if (!target.ok()) {
                          promise->Set(target.status());
                          return;
                        }
                        CopyRaw(use, *target, offset, bytes).Then([promise](const absl::Status& status) {
                          promise->Set(status);
                        });
                      },
                      std::move(done)};
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> PjRtBuffer::CopyToMemorySpace(PjRtMemorySpace* space) {
  SHOAL_ASSIGN_OR_RETURN(auto memory, DeviceMemory::Allocate(space->device()->allocator(), shape_.ByteSize(),
                                                             absl::StrCat("copy of ", shape_.ToString())));
  SHOAL_ASSIGN_OR_RETURN(Use use, AcquireUse("copying a buffer"));
  Future done = CopyWhenDefined(use, shape_.ByteSize(), [source = use.memory, memory] {
    CopyBytes(source->data(), memory->data(), memory->bytes());
  });
  EndUse(done);
  return std::make_unique<PjRtBuffer>(shape_, space, std::move(memory), std::move(done), minor_to_major_);
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> PjRtBuffer::Bitcast(const Shape& shape) {
  if (shape.ByteSize() != shape_.ByteSize()) {
    return absl::InvalidArgumentError(absl::StrCat("bitcast of ", shape_.ToString(), " (", shape_.ByteSize(),
                                                   " bytes) to ", shape.ToString(), " (", shape.ByteSize(),
                                                   " bytes)"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ == nullptr) return DeletedError("bitcast");
  auto cast = std::make_unique<PjRtBuffer>(shape, space_, memory_, definition_,
                                           shape == shape_ ? minor_to_major_ : std::vector<int64_t>());
  aliased_ = cast->aliased_ = true;
  return cast;
}

absl::Status PjRtBuffer::IncreaseExternalReferenceCount() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ == nullptr) return DeletedError("taking an external reference");
  if (external_references_++ == 0) external_memory_ = memory_;
  return absl::OkStatus();
}

absl::Status PjRtBuffer::DecreaseExternalReferenceCount() {
  std::shared_ptr<DeviceMemory> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (external_references_ == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("giving back an external reference of ", shape_.ToString(), ", which has none"));
  }
  if (--external_references_ == 0) dropped = std::move(external_memory_);
  return absl::OkStatus();
}

absl::StatusOr<void*> PjRtBuffer::UnsafePointer() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ != nullptr) return static_cast<void*>(memory_->data());
  if (external_memory_ != nullptr) return static_cast<void*>(external_memory_->data());
  return DeletedError("asking for a buffer's address");
}

absl::StatusOr<PjRtBuffer::Use> PjRtBuffer::AcquireUse(absl::string_view what) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ == nullptr) return DeletedError(what);
  ++open_uses_;
  return Use{memory_, definition_};
}

void PjRtBuffer::EndUse(const Future& end) {
  std::lock_guard<std::mutex> lock(mutex_);
  --open_uses_;
  AddUse(end);
}

void PjRtBuffer::AddReader(const Future& end) {
  std::lock_guard<std::mutex> lock(mutex_);
  AddUse(end);
}

void PjRtBuffer::AddUse(const Future& end) {
  if (end.IsReady()) return;
  uses_.erase(std::remove_if(uses_.begin(), uses_.end(), [](const Future& use) { return use.IsReady(); }),
              uses_.end());
  uses_.push_back(end);
}

absl::StatusOr<PjRtBuffer::Use> PjRtBuffer::TryDonate() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (memory_ == nullptr) return DeletedError("donating a buffer");
  if (external_references_ > 0 || open_uses_ > 0 || aliased_ || !memory_->writable()) return Use{};
  Use use{std::move(memory_), definition_};
  memory_ = nullptr;
  donated_ = true;
  if (!uses_.empty()) {
    // How a use ended is nothing to the new owner; only that it did.
    auto pending = std::make_shared<Promise>();
    Future definition = definition_;
    Join(uses_).Then([pending](const absl::Status&) { pending->Set(absl::OkStatus()); });
    use.definition = Join({definition, pending->future()});
    uses_.clear();
  }
  return use;
}

}  // namespace shoal
