#include "core/passes/optimize.h"

#include "core/base/status.h"
#include "core/passes/combine_collectives.h"
#include "core/passes/commute_reducers.h"
#include "core/passes/cse.h"
#include "core/passes/dce.h"
#include "core/passes/expand_reducers.h"
#include "core/passes/fold.h"
#include "core/passes/inline_calls.h"
#include "core/passes/remove_barriers.h"
#include "core/passes/simplify.h"
#include "core/passes/simplify_while.h"

namespace shoal {
namespace {

const Pass kInlineCalls = {"inline_calls", InlineCalls};
const Pass kCommuteReducers = {"commute_reducers", CommuteReducers};
const Pass kExpandReducers = {"expand_reducers", ExpandReducers};
const Pass kSimplify = {"simplify", Simplify};
const Pass kFold = {"fold", Fold};
const Pass kCse = {"cse", EliminateCommonSubexpressions};
const Pass kDce = {"dce", EliminateDeadCode};
const Pass kSimplifyWhile = {"simplify_while", SimplifyWhile};
const Pass kCombineCollectives = {"combine_collectives", CombineCollectives};
const Pass kRemoveBarriers = {"remove_barriers", RemoveBarriers};

constexpr int kMaxRounds = 4;

}  // namespace

absl::StatusOr<bool> Prepare(Module& module, const PassObserver& observer) {
  return RunPasses({kInlineCalls, kDce}, module, observer);
}

absl::StatusOr<bool> Optimize(Module& module, const PassObserver& observer) {
  // Calls first: the others see across them.
  SHOAL_ASSIGN_OR_RETURN(bool inlined, RunPasses({kInlineCalls, kCommuteReducers}, module, observer));
  SHOAL_ASSIGN_OR_RETURN(bool simplified, RunToFixpoint({kSimplify, kFold, kCse, kSimplifyWhile, kDce},
                                                        module, kMaxRounds, observer));
  // Barriers keep apart what cse would merge; after it they are in the way of fusion.
  SHOAL_ASSIGN_OR_RETURN(bool removed, RunPasses({kRemoveBarriers}, module, observer));
  // Once reducers are simple, and before collectives are combined.
  SHOAL_ASSIGN_OR_RETURN(bool expanded, RunPasses({kExpandReducers}, module, observer));
  if (expanded) SHOAL_RETURN_IF_ERROR(RunPasses({kInlineCalls}, module, observer).status());
  SHOAL_ASSIGN_OR_RETURN(bool combined, RunPasses({kCombineCollectives}, module, observer));
  if (removed || expanded) SHOAL_RETURN_IF_ERROR(RunPasses({kSimplify, kDce}, module, observer).status());
  return inlined || simplified || removed || expanded || combined;
}

std::vector<Pass> AllPasses() {
  return {kCombineCollectives, kCommuteReducers, kCse,      kDce,          kExpandReducers, kFold,
          kInlineCalls,        kRemoveBarriers,  kSimplify, kSimplifyWhile};
}

}  // namespace shoal
