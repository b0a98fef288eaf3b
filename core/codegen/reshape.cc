// Elements of reshape, bitcast, broadcast and transpose: the operand at other digits.
#include "core/base/status.h"
#include "core/codegen/element.h"

namespace shoal {

absl::StatusOr<Element> EmitReshapeFamily(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const Instruction& operand = *op.operand(0);
  if (op.opcode() == Opcode::kReshape || op.opcode() == Opcode::kBitcast) {
    if (operand.shape().element_type() != op.shape().element_type()) return NoEmitter(op);
    return e.Emit(operand, at);
  }
  std::vector<int64_t> outer_dim(operand.shape().rank());
  for (size_t i = 0; i < op.dimensions().size(); ++i) {
    int64_t d = op.dimensions()[i];
    if (op.opcode() == Opcode::kBroadcast) {
      outer_dim[i] = d;
    } else {  // transpose: result dimension i is operand dimension d
      outer_dim[d] = static_cast<int64_t>(i);
    }
  }
  return e.Emit(operand, e.index().Move(at, op.shape(), operand.shape(), outer_dim));
}

}  // namespace shoal
