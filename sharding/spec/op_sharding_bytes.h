// OpSharding on the wire: the serialized xla.OpSharding proto by which PJRT tells JAX where parameters and
// results lie.
#pragma once

#include <string>

#include "sharding/spec/gspmd.h"

namespace shoal {

std::string SerializeOpSharding(const OpSharding& sharding);
// Any bytes are safe to read; what is not such a proto is InvalidArgument. Fields without meaning here are
// skipped.
absl::StatusOr<OpSharding> ParseOpShardingBytes(absl::string_view bytes);

}  // namespace shoal
