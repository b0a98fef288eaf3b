// A buffer that stands for another one which does not exist yet: programs may take it at once, and run when
// it is fulfilled.
//
// Its memory is its own, and is written by copying the other's contents: a program binds the addresses of its
// arguments when it is asked for, so there is no address to give later.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "plugin/client/buffer.h"

namespace shoal {

// What fulfils one alias. Dropped unused it fails the alias, so that nobody waits for ever. Thread-safe.
class AliasFulfillment {
 public:
  AliasFulfillment(Shape shape, std::shared_ptr<DeviceMemory> memory)
      : shape_(std::move(shape)), memory_(std::move(memory)) {}

  // The alias has the contents of `source` once that has them; `source` may be the alias itself, whose memory
  // the caller has filled. An error becomes the alias's. Both an error and a source of another shape or
  // device are the answer too, as in XLA. Once.
  absl::Status Fulfill(absl::StatusOr<PjRtBuffer*> source);

 private:
  friend struct AliasBuffer;
  const Shape shape_;
  const std::shared_ptr<DeviceMemory> memory_;
  Promise promise_;
};

struct AliasBuffer {
  static absl::StatusOr<AliasBuffer> Create(const Shape& shape, PjRtMemorySpace* space);

  std::unique_ptr<PjRtBuffer> alias;
  std::unique_ptr<AliasFulfillment> fulfillment;
};

}  // namespace shoal
