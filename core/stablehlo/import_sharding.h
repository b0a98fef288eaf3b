// Shardings as MLIR attributes, to the values of core/hlo/sharding.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/sharding.h"
#include "core/hlo/user_sharding_rule.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// The record sdy.mesh.
absl::StatusOr<std::shared_ptr<const Mesh>> MeshOf(const MlirAttribute& attribute, absl::string_view name);
// The record sdy.sharding, whose mesh is a name or stands there itself.
absl::StatusOr<Sharding> ShardingOf(const MlirAttribute& attribute, const Importer& importer);
// The record sdy.sharding_per_value, or one sdy.sharding.
absl::StatusOr<std::vector<Sharding>> ShardingsOf(const MlirAttribute& attribute, const Importer& importer);

// The record sdy.op_sharding_rule.
absl::StatusOr<UserShardingRule> UserRuleOf(const MlirAttribute& attribute);

// A sharding as MLIR's attribute holds it, as one of XLA's strings: such a string already, or, as JAX writes
// more than a hundred devices, the bytes of an OpSharding proto.
absl::StatusOr<std::string> GspmdText(absl::string_view written);

// XLA's sharding strings ("{devices=[2,1]<=[2]}", "{replicated}", a tuple of them), one a leaf of `shape`.
// A leaf that is manual along all axes, or of another kind that says nothing about placement, has a null
// mesh.
//
// `text` may be bytes, too (GspmdText).
//
// All strings over n devices share one mesh where they can: its axes are the prime factors of n by stride,
// and a tile order that follows them needs no list of devices.
absl::StatusOr<std::vector<Sharding>> ParseGspmdShardings(absl::string_view text, const Shape& shape,
                                                          int64_t num_devices);

// The axes, of the mesh that the string's sharding is over, along which an array of this shape is manual
// ("last_tile_dims={manual}"); none if it is so along all, or along none.
absl::StatusOr<std::vector<std::string>> GspmdManualAxes(absl::string_view text, const Shape& shape,
                                                         int64_t num_devices);

}  // namespace shoal
