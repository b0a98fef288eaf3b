// after-all, get-tuple-element, opt-barrier, parameter, tuple.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kTupleFamily>(const OpView& op) {
  switch (op.opcode) {
    case Opcode::kAfterAll:
      for (int64_t i = 0; i < op.operand_count(); ++i)
        SHOAL_OP_CHECK(op, "I1", op.shape(i).IsToken(), "operand ", i, " is not a token");
      return Shape::Token();
    case Opcode::kGetTupleElement: {
      const int64_t index = op.attributes_as<TupleIndexAttributes>().index;
      const Shape& tuple = op.shape(0);
      SHOAL_OP_CHECK(op, "I1", tuple.IsTuple(), "the operand is not a tuple");
      SHOAL_OP_CHECK(op, "C1", index >= 0 && index < static_cast<int64_t>(tuple.elements().size()), "index ",
                     index);
      return tuple.element(index);
    }
    case Opcode::kOptimizationBarrier:
      return op.shape(0);
    case Opcode::kParameter:
      SHOAL_RETURN_IF_ERROR(CheckWanted(op, /*array=*/false));
      return *op.wanted;
    default: {
      std::vector<Shape> elements;
      for (int64_t i = 0; i < op.operand_count(); ++i) elements.push_back(op.shape(i));
      return Shape::Tuple(std::move(elements));
    }
  }
}

}  // namespace shoal
