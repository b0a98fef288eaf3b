// Layouts of entry parameters and results other than row-major, as dimensions in another order.
//
//   parameter f32[8,3] of layout {0,1}   ->   parameter f32[3,8], and a transpose of it that the program uses
//
// What fuses with the transpose costs nothing; the rest is a copy.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/stablehlo/entry_layouts.h"
#include "plugin/compile/compiler.h"

namespace shoal {

// Minor to major, one a parameter or result; empty: row-major.
struct MemoryLayouts {
  std::vector<IntVector> parameters, results;
};

// Puts the layouts that the caller's options ask for in the place of the program's. InvalidArgument where
// they are of another number or of other arrays than the program has.
absl::Status TakeLayouts(absl::string_view what, absl::Span<const WantedArray> asked,
                         absl::Span<const Shape> arrays, std::vector<EntryLayout>& wanted);

// Rewrites the entry and says which layouts there are now. Where the program leaves it to the compiler, a
// result that is the transpose of something lies in memory like that. InvalidArgument if a layout is of
// another rank.
absl::StatusOr<MemoryLayouts> ApplyLayouts(Module& module, const EntryLayouts& wanted);

}  // namespace shoal
