// ragged-all-to-all: an all-to-all whose parts are as long as numbers say that are computed. It is the
// all-to-all that splits "dimension -1", with six operands: the rows to send, the array that the rows which
// come are put into, and four vectors s64[n*g] of g numbers for each of the n members of the group in turn:
// where what goes to the member begins among the rows, how many rows that are, where what comes from the
// member begins in the result, and how many rows that are. What one member sends is what the other expects,
// and all ranges lie within their arrays.
#pragma once

#include "core/hlo/instruction.h"

namespace shoal {

// The attributes of one.
inline CollectiveAttributes RaggedAllToAll(Groups groups, int64_t channel_id) {
  CollectiveAttributes attributes;
  attributes.replica_groups = std::move(groups);
  attributes.dimensions = {-1, -1};
  attributes.channel_id = channel_id;
  return attributes;
}

inline bool IsRaggedAllToAll(Opcode opcode, const CollectiveAttributes& attributes) {
  return opcode == Opcode::kAllToAll && !attributes.dimensions.empty() && attributes.dimensions[0] == -1;
}

}  // namespace shoal
