// CustomPartitioner: how calls of one target are split, said by whoever has registered for it
// (jax.experimental's custom_partitioning does, through the PJRT extension of that name).
//
// The registry is the process's; registering and finding are thread-safe. A partitioner is called by
// whichever thread compiles, by several at once, and may be slow: Python answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"
#include "core/hlo/op_sharding.h"

namespace shoal {

struct PlacedArray {
  Shape shape;          // of the whole array
  OpSharding sharding;  // of a tuple: kTuple
};

struct PlacedCall {
  absl::string_view backend_config;
  std::vector<PlacedArray> operands;
  PlacedArray result;
};

// What each device does instead of a call.
struct SplitCall {
  std::string program;  // StableHLO on local shapes, whose collectives number partitions
  std::vector<OpSharding> operands;
  OpSharding result;
};

class CustomPartitioner {
 public:
  virtual ~CustomPartitioner() = default;
  virtual absl::StatusOr<SplitCall> Split(const PlacedCall& call) const = 0;
  // The result's sharding, from those of the operands.
  virtual absl::StatusOr<OpSharding> InferResult(const PlacedCall& call) const = 0;
  // What becomes of the sharding that the call's result has in `call`, where a user of it has asked for that.
  virtual absl::StatusOr<OpSharding> FromUser(const PlacedCall& call) const = 0;
};

// `call` with the shardings that each leaf of its operands and its result has.
PlacedCall Place(const Instruction& call,
                 const std::function<Sharding(const Instruction*, int64_t leaf)>& sharding_of);
// What a partitioner answers for an array or a tuple of this shape, one a leaf, over the program's mesh.
// Unimplemented if that cannot say it.
absl::StatusOr<std::vector<Sharding>> ShardingsOver(const std::shared_ptr<const Mesh>& mesh,
                                                    const OpSharding& answer, const Shape& shape);

// A later one of the same target takes the place of the earlier.
void RegisterCustomPartitioner(absl::string_view target,
                               std::shared_ptr<const CustomPartitioner> partitioner);
// Null if there is none.
std::shared_ptr<const CustomPartitioner> FindCustomPartitioner(absl::string_view target);

}  // namespace shoal
