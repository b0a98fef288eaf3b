// Pass: a named function from a module to "did it change", and how a list of them is run.
//
// A pass leaves a module that Verify (core/ops/verify.h) accepts; an error of a pass is a bug or something
// not built, never the user's data. Passes are deterministic: every process makes the same program from the
// same program.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/hlo/instruction.h"

namespace shoal {

struct Pass {
  absl::string_view name;  // a verb, as in its file's name and in dumps: "fold"
  std::function<absl::StatusOr<bool>(Module&)> run;
};

// Called after each pass that changed the module, to write dumps.
using PassObserver = std::function<void(absl::string_view pass, const Module&)>;

// Runs each pass once, in order; true if one changed something. After each change callees stand before their
// callers, and debug builds (NDEBUG not set) verify. Tells times at log level 2. An error is annotated with
// the pass's name.
absl::StatusOr<bool> RunPasses(absl::Span<const Pass> passes, Module& module,
                               const PassObserver& observer = nullptr);
// Runs the list again until a round changes nothing, `max_rounds` at most.
absl::StatusOr<bool> RunToFixpoint(absl::Span<const Pass> passes, Module& module, int max_rounds,
                                   const PassObserver& observer = nullptr);

}  // namespace shoal
