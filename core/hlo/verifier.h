// Structural rules of a Module, which every stage may rely on and has to leave true. core/ops/verify.h adds
// the rules of each operation.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// Internal, naming the instruction, unless: there is an entry with a root; parameters are numbered without
// gaps; operands stand in the same computation before their users, and users are as operands say; each opcode
// has its number of operands, its kind of attributes and its number of called computations; called
// computations are of this module and do not call each other in a circle or deeper than kMaxCallDepth; no
// computation is both a fusion's and somebody else's; shardings are one a leaf, one dimension sharding a
// dimension.
absl::Status VerifyStructure(const Module& module);

inline constexpr int kMaxCallDepth = 512;

}  // namespace shoal
