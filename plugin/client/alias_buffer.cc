#include "plugin/client/alias_buffer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/client/strided_copy.h"

namespace shoal {

absl::StatusOr<AliasBuffer> AliasBuffer::Create(const Shape& shape, PjRtMemorySpace* space) {
  SHOAL_ASSIGN_OR_RETURN(auto memory, DeviceMemory::Allocate(space->device()->allocator(), shape.ByteSize(),
                                                             absl::StrCat("alias ", shape.ToString())));
  auto fulfillment = std::make_unique<AliasFulfillment>(shape, memory);
  auto alias = std::make_unique<PjRtBuffer>(shape, space, std::move(memory), fulfillment->promise_.future());
  return AliasBuffer{std::move(alias), std::move(fulfillment)};
}

absl::Status AliasFulfillment::Fulfill(absl::StatusOr<PjRtBuffer*> source) {
  if (source.ok() && (*source)->shape() != shape_) {
    source = absl::InvalidArgumentError(absl::StrCat("the alias of a buffer ", shape_.ToString(),
                                                     " is fulfilled by ", (*source)->shape().ToString()));
  }
  if (!source.ok()) {
    promise_.Set(source.status());
    return source.status();
  }
  const absl::StatusOr<void*> address = (*source)->UnsafePointer();
  if (address.ok() && *address == memory_->data()) {
    promise_.Set(absl::OkStatus());
    return absl::OkStatus();
  }
  const Future copied = (*source)->ToHost(memory_->data(), RowMajorByteStrides(shape_));
  copied.Then([promise = std::make_shared<Promise>(std::move(promise_)),
               memory = memory_](const absl::Status& status) { promise->Set(status); });
  return absl::OkStatus();
}

}  // namespace shoal
