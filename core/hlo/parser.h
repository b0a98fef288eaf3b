// HLO text in: what ToText writes, and what XLA writes as far as Shoal has the operations.
//
// Percent signs, operand shapes, layouts, computation signatures and comments may be left out; computations
// may come in any order. Layouts are skipped, but a bitcast's must be row-major.
// InvalidArgument (Unimplemented for an unknown operation) as "line:column: what"; the module that comes back
// has passed VerifyStructure, shapes are as the text says. Any text is safe to read: nesting and sizes are
// bounded. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<std::unique_ptr<Module>> ParseHloText(absl::string_view text);

}  // namespace shoal
