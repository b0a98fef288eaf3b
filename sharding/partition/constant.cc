// Values from nothing: each use gets them in the layout that it wants (Region::Get); here is only the layout
// that the annotation wants.
#include "sharding/partition/region.h"

namespace shoal {

absl::Status PartitionConstant(Region& region, const Instruction& old) {
  if (old.opcode() == Opcode::kConstant && !region.IsFree(&old)) {
    Instruction* whole = region.builder().computation()->AddConstant(old.literal());
    region.SetResult(&old, 0, whole, Layout::Replicated(old.shape().rank()));
    return absl::OkStatus();
  }
  return region.SetFree(&old);
}

}  // namespace shoal
