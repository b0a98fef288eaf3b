// Opcode: the kinds of instruction, and what op_list.h says of each.
#pragma once

#include <cstdint>
#include <ostream>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/hlo/op_list.h"

namespace shoal {

enum class Opcode : uint8_t {
#define SHOAL_ENUM(name, text, arity, family, flags) name,
  HLO_OP_LIST(SHOAL_ENUM)
#undef SHOAL_ENUM
};

enum class OpFamily : uint8_t {
#define SHOAL_ENUM(name, stem) name,
  HLO_FAMILY_LIST(SHOAL_ENUM)
#undef SHOAL_ENUM
};

absl::string_view OpcodeName(Opcode opcode);
absl::StatusOr<Opcode> ParseOpcode(absl::string_view name);
absl::Span<const Opcode> AllOpcodes();
int OpcodeArity(Opcode opcode);  // -1: any number of operands
OpFamily FamilyOf(Opcode opcode);

bool IsCommutative(Opcode opcode);
bool IsCrossDevice(Opcode opcode);  // a collective: every member of its group must run it
bool HasSideEffect(Opcode opcode);  // must neither be removed nor merged nor moved past another such
bool CallsComputations(Opcode opcode);
bool IsTranscendental(Opcode opcode);  // of floats: more than a few instructions, roots among them

std::ostream& operator<<(std::ostream& out, Opcode opcode);

}  // namespace shoal
