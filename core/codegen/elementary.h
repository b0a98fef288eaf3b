// Calls of elementary functions in generated code. Internal to core/codegen: includes LLVM.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/codegen/lanes.h"

namespace shoal {

// f(arguments...) for f32 or f64 arguments (all of one type), uniform or vector. "exp" with f32 becomes the
// body of exp_f32 (core/jit/elementary), copied and widened to the arguments' lanes. A function that is not
// there, and arguments for which it says <function>_slow, go to the C library, lane by lane. Internal if
// neither has it.
absl::StatusOr<llvm::Value*> EmitElementary(LaneBuilder& lanes, absl::string_view function,
                                            absl::Span<llvm::Value* const> arguments);

// The function <name> itself ("encode_f8e5m2"), whatever its types. Internal if there is none.
absl::StatusOr<llvm::Value*> InlineElementary(LaneBuilder& lanes, absl::string_view name,
                                              absl::Span<llvm::Value* const> arguments);

}  // namespace shoal
