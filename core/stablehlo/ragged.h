// JAX's custom call @ragged_all_to_all.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/attributes.h"

namespace shoal {

class OpImporter;

// collective.cc: reads groups and channel.
absl::Status ImportRaggedAllToAll(OpImporter& c);
// ragged.cc
absl::Status EmitRaggedAllToAll(OpImporter& c, CollectiveAttributes groups);

}  // namespace shoal
