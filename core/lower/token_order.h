// TokenOrder: what tokens say about the order of a plan's steps, as uses of memory that is not there.
//
// A token has no bytes, and steps are ordered by the memory that they share (core/runtime/plan.h). So each
// token value stands for one byte of a block that no run has: what makes the token writes it, what takes it
// reads it. Steps of independent tokens may run at once, which a program can count on: one that takes two
// arrays from the host does not say which the host gives first. Transfers of one channel keep the program's
// order all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/hlo/instruction.h"
#include "core/memory/liveness.h"
#include "core/runtime/step.h"

namespace shoal {

class TokenOrder {
 public:
  // `live` outlives this.
  explicit TokenOrder(const Liveness& live) : live_(live) {}

  // For an instruction that becomes a step: its operands' tokens are read, its own are written.
  std::vector<SliceUse> Of(const Instruction& instruction) const;
  // The same of a transfer through the channel `id`.
  std::vector<SliceUse> OfTransfer(const Instruction& transfer, int64_t id, bool sends) const;
  // For one that becomes no step (after-all, a native loop): its tokens are there when its operands' are.
  void Forward(const Instruction& instruction);

 private:
  std::vector<ValueId> OperandTokens(const Instruction& instruction) const;
  std::vector<ValueId> ResultTokens(const Instruction& instruction) const;

  const Liveness& live_;
  absl::flat_hash_map<ValueId, std::vector<ValueId>> sources_;  // of tokens that no step makes
};

}  // namespace shoal
