// CountedLoop: a while loop that counts its turns, for what has to be done to one element after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ops/builder.h"

namespace shoal {

// Makes of `state`, the values at a turn's beginning, those at its end, with `step`; `turn` is an s64 from 0.
using LoopTurn =
    absl::FunctionRef<void(HloBuilder& step, Instruction* turn, std::vector<Instruction*>& state)>;

// The values after `count` turns that begin with `initial`. `name` is the loop's, in dumps. An error is the
// first mistake in what `turn` has built.
absl::StatusOr<std::vector<Instruction*>> CountedLoop(HloBuilder& b, absl::string_view name, int64_t count,
                                                      const std::vector<Instruction*>& initial,
                                                      LoopTurn turn);

}  // namespace shoal
