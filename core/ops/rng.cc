// rng, rng-bit-generator.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::StatusOr<Shape> RngShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  const ElementType type = op.wanted->element_type();
  for (int64_t i : {0, 1}) {
    SHOAL_OP_CHECK(op, "C1", op.shape(i).IsScalar() && op.shape(i).element_type() == type, "operand ", i,
                   " is not a scalar of the result's element type");
  }
  const bool normal = op.attributes_as<RngAttributes>().distribution == RandomDistribution::kNormal;
  SHOAL_OP_CHECK(op, "C2", !normal || IsFloat(type), "a normal distribution wants floats");
  return *op.wanted;
}

// (state, bits)
absl::StatusOr<Shape> RngBitGeneratorShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  SHOAL_RETURN_IF_ERROR(CheckWanted(op, /*array=*/false));
  const Shape& state = op.shape(0);
  SHOAL_OP_CHECK(op, "C1",
                 op.wanted->IsTuple() && op.wanted->elements().size() == 2 && op.wanted->element(0) == state,
                 "the result is not a tuple that begins with the state's shape");
  SHOAL_OP_CHECK(op, "O2", op.wanted->element(1).IsArray(), "the bits are not an array");
  // Words of 64 bits; JAX keeps some states as twice as many of 32.
  const int64_t words = state.ByteSize() / 8;
  const RandomAlgorithm algorithm = op.attributes_as<RngAttributes>().algorithm;
  SHOAL_OP_CHECK(
      op, "C2", state.rank() == 1 && IsUnsigned(state.element_type()) && ByteWidth(state.element_type()) >= 4,
      "the state is not a vector of u32 or u64");
  const bool fits = algorithm == RandomAlgorithm::kThreeFry ? words == 2 : words == 2 || words == 3;
  SHOAL_OP_CHECK(op, "C2", fits, "the state has ", words, " words of 64 bits");
  return *op.wanted;
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kRngFamily>(const OpView& op) {
  return op.opcode == Opcode::kRng ? RngShape(op) : RngBitGeneratorShape(op);
}

}  // namespace shoal
