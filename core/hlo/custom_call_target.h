// Which function a custom call is of.
#pragma once

#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"

namespace shoal {

inline bool IsCallOf(const Instruction& instruction, absl::string_view target) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attributes<CustomCallAttributes>().target == target;
}

}  // namespace shoal
