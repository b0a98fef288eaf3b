// StableHLO in, HLO out: the front door of this folder.
//
// The module's entry is @main: one parameter for each of its arguments; its root is @main's result, or a
// tuple of them. Functions become computations that kCall instructions call, one each however often it is
// called. Regions become computations that close over nothing: what they capture is passed in (more loop
// state, branch operands) and captured constants are copied in. Conditionals and loops always take tuples.
// Shardings (sdy or GSPMD), aliases, donors and memory kinds of arguments and results stand on the parameters
// and in ModuleConfig. Result shapes are those that the program states: core/ops' verifier checks them.
//
// Failures: InvalidArgument for input that is not a program (with what and at which byte or line),
// Unimplemented with the name of an operation or type that Shoal does not have.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"
#include "core/stablehlo/bytecode_reader.h"  // LooksLikeBytecode
#include "core/stablehlo/entry_layouts.h"

namespace shoal {

// `program` is MLIR bytecode (a portable artifact) or StableHLO text. If it speaks of fewer partitions or
// replicas than these, it is for that many. `layouts`, if not null, gets what the program says of those.
absl::StatusOr<std::unique_ptr<Module>> ImportStableHlo(absl::string_view program, int64_t num_partitions = 1,
                                                        EntryLayouts* layouts = nullptr,
                                                        int64_t num_replicas = 1);

}  // namespace shoal
