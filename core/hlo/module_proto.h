// Modules as HloModuleProto bytes, both ways: what other PJRT clients send, what JAX's compiled.as_text()
// reads.
//
// Out: a module without what the partitioner consumes (reshard, sharding-constraint, manual-computation:
// Internal). What XLA has no field for travels as a frontend attribute (the second dimension of an all-to-all
// that splits and joins different ones). In: any bytes are safe to read; what is wrong is InvalidArgument
// naming the instruction, what Shoal does not know is Unimplemented. The result has passed VerifyStructure.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<std::string> ToHloModuleProto(const Module& module);
// PJRT's "hlo_with_config": module, entry layout, numbers of replicas and partitions.
absl::StatusOr<std::string> ToHloModuleProtoWithConfig(const Module& module);

// Shardings, one a leaf of `shape`, from a serialized OpSharding.
using OpShardingReader =
    std::function<absl::StatusOr<std::vector<Sharding>>(const std::string& op_sharding, const Shape& shape)>;

// Without a reader, an instruction that is split over devices is Unimplemented.
absl::StatusOr<std::unique_ptr<Module>> FromHloModuleProto(absl::string_view bytes,
                                                           const OpShardingReader& read_sharding = nullptr);
absl::StatusOr<std::unique_ptr<Module>> FromHloModuleProtoWithConfig(
    absl::string_view bytes, const OpShardingReader& read_sharding = nullptr);

}  // namespace shoal
