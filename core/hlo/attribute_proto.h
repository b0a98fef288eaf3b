// Attributes as fields of HloInstructionProto, both ways. Inside core/hlo.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/attributes.h"
#include "core/hlo/opcode.h"
#include "core/hlo/proto/hlo.pb.h"

namespace shoal {

void AttributesToProto(Opcode opcode, const Attributes& attributes, wire::HloInstructionProto& proto);
// Fills `attributes`, which hold the opcode's kind. Not for constants (literal_proto.h).
absl::Status AttributesFromProto(Opcode opcode, const wire::HloInstructionProto& proto,
                                 Attributes& attributes);

}  // namespace shoal
