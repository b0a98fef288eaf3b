// Which instructions the world outside the program notices.
#pragma once

#include "core/hlo/instruction.h"

namespace shoal {

// True for what must run, in order, even if nobody uses its result: calls that say so of themselves, infeed,
// outfeed, and whatever calls a computation that holds one.
bool HasEffect(const Instruction& instruction);

}  // namespace shoal
