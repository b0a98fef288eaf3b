#include "core/ops/map.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {

absl::StatusOr<Instruction*> Map(HloBuilder& b, const Computation& body,
                                 absl::Span<Instruction* const> operands) {
  const Shape& shape = operands[0]->shape();
  absl::flat_hash_map<const Instruction*, Instruction*> whole;
  for (Instruction* scalar : body.instructions()) {
    std::vector<Instruction*> of;
    for (Instruction* operand : scalar->operands()) of.push_back(whole.at(operand));
    if (scalar->opcode() == Opcode::kParameter) {
      whole[scalar] = operands[static_cast<size_t>(scalar->parameter_number())];
    } else if (scalar->opcode() == Opcode::kConstant) {
      whole[scalar] = b.Broadcast(b.Constant(scalar->literal()), shape.dims(), {});
    } else if (FamilyOf(scalar->opcode()) == OpFamily::kElementwise) {
      const Shape wanted = scalar->shape().WithDims(shape.dims());
      whole[scalar] = b.Op(scalar->opcode(), of, scalar->attributes(), {}, &wanted);
    } else {
      return absl::UnimplementedError(
          absl::StrCat("the operation ", scalar->ToString(), " in ", body.name(), " is not elementwise"));
    }
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  return whole.at(body.root());
}

}  // namespace shoal
