// GSPMD's manual regions. In its programs an array goes into one by a custom call from its whole shape to
// that of a part, and comes out by another; what lies between is a function of its own. Here the call of that
// function becomes a manual computation, as Shardy's programs have it.
//
//   %1 = custom_call @Sharding(%0) {mhlo.sharding = "{devices=[4,1]<=[4]}"}      f32[8,3] -> f32[8,3]
//   %2 = custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"}      f32[8,3] -> f32[2,3]
//   %3 = call @shmap_body(%2)                                                    f32[2,3] -> f32[2,3]
//   %4 = custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=...}"} f32[2,3] -> f32[8,3]
//
// Where it has been inlined, it is made a function again (gspmd_outline.h).
//
// A string of kind {devices=... last_tile_dims={manual, replicated}} says that only some axes are manual.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/custom_call_target.h"
#include "core/hlo/instruction.h"

namespace shoal {

inline constexpr char kFullToShardTarget[] = "SPMDFullToShardShape";
inline constexpr char kShardToFullTarget[] = "SPMDShardToFullShape";

// Unimplemented if something is left that does not look so. REQUIRES: calls are not inlined yet.
absl::Status FormManualRegions(Module& module);

}  // namespace shoal
