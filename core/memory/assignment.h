// AssignBuffers: where every value of a scheduled program lies.
//
// Values become slices of parameters, results, one block of temporaries and one block of constants. Values
// share a slice where that saves a copy, if they are never needed at the same time:
//   - state of a loop: initial value, what condition and body see, the body's result and the loop's result
//     are one slice; what cannot be (a swap, a constant, a value still needed) is copied when the loop is
//     entered or at the end of its body;
//   - a conditional's branches write into its results;
//   - the entry's results are written where the caller wants them; a donated parameter's memory becomes a
//     result's;
//   - an instruction writes over an operand that it reads last, if `share` allows it.
// Copies that remain are listed here, in an order in which they can be done one after another. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/memory/liveness.h"
#include "core/memory/slice.h"

namespace shoal {

// Whether an instruction's array leaf `output` may lie exactly on its operands' array leaf `operand`.
// kWanted: otherwise the instruction would have to copy that operand first.
enum class Sharing : uint8_t { kNever, kAllowed, kWanted };

struct AssignmentOptions {
  std::function<Sharing(const Instruction&, int64_t operand, int64_t output)> share;
  std::function<int64_t(const Instruction&)> scratch_bytes;  // while it runs; may be null
};

struct SliceCopy {
  Slice from, to;  // same size
};

class BufferAssignment {
 public:
  static absl::StatusOr<BufferAssignment> Assign(const Module& module, const AssignmentOptions& options);

  // Of one leaf of what `instruction` makes or forwards; a token's has no bytes.
  Slice slice(const Instruction* instruction, int64_t leaf = 0) const {
    return slices_[live_.ValueOf(instruction, leaf).value()];
  }
  std::vector<Slice> OperandSlices(const Instruction* instruction) const;
  std::vector<Slice> ResultSlices(const Instruction* instruction) const;
  // No bytes if it needs none.
  Slice scratch(const Instruction* instruction) const;

  // Before the loop, at the end of its body, at the end of a branch, at the program's end.
  const std::vector<SliceCopy>& AtLoopEntry(const Instruction* loop) const { return Find(loop_entry_, loop); }
  const std::vector<SliceCopy>& AtLoopBack(const Instruction* loop) const { return Find(loop_back_, loop); }
  const std::vector<SliceCopy>& AtBranchEnd(const Instruction* conditional, int64_t branch) const;
  const std::vector<SliceCopy>& AtEnd() const { return at_end_; }

  int64_t temp_bytes() const { return temp_bytes_; }
  const std::string& constants() const { return constants_; }  // the block, to lie at a multiple of 64
  // For each result leaf the parameter leaf whose memory it takes, or -1.
  const std::vector<int>& result_donors() const { return result_donors_; }
  // Donated parameters that a result of their size could not take, as it is made while they are read.
  const std::vector<int>& released_parameters() const { return released_parameters_; }
  const Liveness& liveness() const { return live_; }

 private:
  friend class Assigner;
  using CopyTable = absl::flat_hash_map<const Instruction*, std::vector<SliceCopy>>;
  explicit BufferAssignment(Liveness live) : live_(std::move(live)) {}
  static const std::vector<SliceCopy>& Find(const CopyTable& table, const Instruction* instruction);

  Liveness live_;
  std::vector<Slice> slices_;  // by value
  absl::flat_hash_map<const Instruction*, Slice> scratch_;
  CopyTable loop_entry_, loop_back_;
  absl::flat_hash_map<const Instruction*, std::vector<std::vector<SliceCopy>>> branch_end_;
  std::vector<SliceCopy> at_end_;
  int64_t temp_bytes_ = 0;
  std::string constants_;
  std::vector<int> result_donors_;
  std::vector<int> released_parameters_;
};

}  // namespace shoal
