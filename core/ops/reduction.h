// The usual reductions: those whose body applies one commutative operation to its two parameters. What
// passes, lowering and the partitioner ask about them.
#pragma once

#include <optional>

#include "core/hlo/instruction.h"

namespace shoal {

// The opcode of such a body (add, multiply, minimum, maximum, and, or, xor); none of any other.
std::optional<Opcode> ReductionOpcode(const Computation& body);

// The scalar that the operation leaves every other alone with: 0 for add, or, xor; 1 for multiply; all ones
// for and; the least value of the type for maximum, the greatest for minimum, which is an infinity only where
// the type has one. None for other opcodes.
std::optional<Literal> ReductionIdentity(Opcode opcode, ElementType type);

}  // namespace shoal
