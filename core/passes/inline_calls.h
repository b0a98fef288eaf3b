// InlineCalls: replaces every call by the body of its computation.
//
//     f { p = parameter(0)  ROOT r = negate(p) }          a = ...
//     b = call(a), to_apply=f                       ->    r = negate(a)
//
// Callees of nothing else go. Shardings of a call and of its callee's root and parameters are kept: where
// both sides say something, the instruction inside wins and the call's becomes a sharding-constraint.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> InlineCalls(Module& module);

// Puts a copy of `callee`'s body into `into`, its parameters being `arguments`; gives what stands for its
// root. Appends: the caller sorts. Computations that the body calls are shared with it, or copied with
// `copy_control` if they belong to loops and branches: these want one caller each to be worked on. What does
// not say where the user wrote it says what `call_name` (core/hlo/origin.h) does.
Instruction* InlineBody(const Computation& callee, absl::Span<Instruction* const> arguments,
                        Computation& into, bool copy_control = false, absl::string_view call_name = {});

}  // namespace shoal
