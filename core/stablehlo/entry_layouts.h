// The layouts that a program wants its arguments and results to have in memory ("mhlo.layout_mode" on
// @main's, which jax.experimental.layout writes). Inside a program every array is row-major; whoever compiles
// it heeds these.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/attributes.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

struct EntryLayout {
  bool automatic = false;    // the compiler chooses
  IntVector minor_to_major;  // empty: row-major
};

// One an argument or result of @main, or none where the program names no layout at all.
struct EntryLayouts {
  std::vector<EntryLayout> parameters, results;
};

// InvalidArgument for what is no layout of the array, Unimplemented for tiles.
absl::StatusOr<EntryLayouts> EntryLayoutsOf(const MlirModule& program);

}  // namespace shoal
