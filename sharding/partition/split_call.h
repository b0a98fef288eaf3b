// A custom call whose target has a CustomPartitioner: the program that this gives takes the call's place.
#pragma once

#include "absl/status/status.h"
#include "sharding/partition/region.h"
#include "sharding/rules/custom_partitioner.h"

namespace shoal {

absl::Status PartitionByItsOwner(Region& region, const Instruction& old, const CustomPartitioner& owner);

}  // namespace shoal
