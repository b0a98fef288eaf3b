#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

namespace {

// HLO's stateful rng, from a state that the runtime hands out (core/runtime/random_state.h) and the
// counter-based generator, so that it can be partitioned.
class StatefulRng {
 public:
  StatefulRng(OpImporter& c, const Shape& shape) : c_(c), b_(&c.computation()), shape_(shape) {
    const ElementType type = shape.element_type();
    wide_ = ByteWidth(type) == 8;
    real_ = wide_ ? ElementType::kF64 : ElementType::kF32;
    word_ = wide_ ? ElementType::kU64 : ElementType::kU32;
  }

  // In [low, high), of the type's own arithmetic.
  Instruction* Uniform(Instruction* low, Instruction* high) {
    const ElementType type = shape_.element_type();
    if (type == ElementType::kPred) return b_.Convert(b_.And(Bits(0), Word(1)), type);
    if (IsInteger(type)) {
      Instruction* range = b_.Subtract(Spread(high, word_), Spread(low, word_));
      Instruction* offset = b_.Convert(b_.Binary(Opcode::kRemainder, Bits(0), range), type);
      return b_.Add(Spread(low, type), offset);
    }
    Instruction *from = Spread(low, real_), *to = Spread(high, real_);
    return b_.Convert(b_.Add(from, b_.Multiply(Unit(0), b_.Subtract(to, from))), type);
  }

  // Box and Muller's: sqrt(-2 log(1 - u)) cos(2 pi v).
  Instruction* Normal(Instruction* mean, Instruction* deviation) {
    const Shape shape = shape_.WithElementType(real_);
    Instruction* log = b_.Unary(Opcode::kLog, b_.Subtract(b_.Splat(shape, 1), Unit(0)));
    Instruction* radius = b_.Unary(Opcode::kSqrt, b_.Multiply(b_.Splat(shape, -2), log));
    Instruction* angle = b_.Multiply(b_.Splat(shape, 6.283185307179586), Unit(1));
    Instruction* normal = b_.Multiply(radius, b_.Unary(Opcode::kCos, angle));
    Instruction* scaled = b_.Multiply(normal, Spread(deviation, real_));
    return b_.Convert(b_.Add(Spread(mean, real_), scaled), shape_.element_type());
  }

  const absl::Status& status() const { return b_.status(); }

 private:
  // Random words; `draw` tells those of one operation apart.
  Instruction* Bits(int draw) {
    CustomCallAttributes call;
    call.target = "shoal.random_state";
    call.backend_config = absl::StrCat(c_.op().offset, ".", draw);
    call.has_side_effect = true;
    const Shape state_shape = Shape::Array(ElementType::kU64, {2});
    Instruction* state = c_.Add(Opcode::kCustomCall, state_shape, {}, std::move(call));
    RngAttributes generator;
    generator.algorithm = RandomAlgorithm::kThreeFry;
    Instruction* both =
        c_.Add(Opcode::kRngBitGenerator, Shape::Tuple({state_shape, shape_.WithElementType(word_)}), {state},
               generator);
    return b_.GetTupleElement(both, 1);
  }
  // In [0, 1): the upper bits as the mantissa of a number between 1 and 2.
  Instruction* Unit(int draw) {
    Instruction* mantissa = b_.Binary(Opcode::kShiftRightLogical, Bits(draw), Word(wide_ ? 12 : 9));
    Instruction* bits = b_.Or(mantissa, Word(wide_ ? 0x1p62 - 0x1p52 : 0x1p30 - 0x1p23));
    const Shape shape = shape_.WithElementType(real_);
    return b_.Subtract(b_.BitcastConvert(bits, shape), b_.Splat(shape, 1));
  }
  Instruction* Word(double value) { return b_.Splat(shape_.WithElementType(word_), value); }
  Instruction* Spread(Instruction* scalar, ElementType type) {
    return b_.Broadcast(b_.Convert(scalar, type), shape_.dims(), {});
  }

  OpImporter& c_;
  HloBuilder b_;
  const Shape shape_;
  bool wide_;
  ElementType real_, word_;
};

}  // namespace

// The third operand repeats the shape of the result.
absl::Status ImportRng(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view distribution, c.Text("rng_distribution"));
  RngAttributes attributes;
  if (distribution == "UNIFORM") {
    attributes.distribution = RandomDistribution::kUniform;
  } else if (distribution == "NORMAL") {
    attributes.distribution = RandomDistribution::kNormal;
  } else {
    return c.Error(absl::StrCat("the distribution ", distribution));
  }
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  if (!shape.IsArray() || IsComplex(shape.element_type()))
    return c.Error("the result is not an array of reals");
  for (size_t i : {0, 1}) {
    SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
    if (c.operand_shape(i) != Shape::Scalar(shape.element_type()))
      return c.Error("C1", absl::StrCat("operand ", i, " is ", c.operand_shape(i).ToString()));
  }
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(2));
  SHOAL_RETURN_IF_ERROR(CheckSizesOperand(c, 2, "C3"));
  if (c.operand_shape(2).rank() != 1 || c.operand_shape(2).dim(0) != shape.rank())
    return c.Error("C3",
                   absl::StrCat("a shape of ", c.operand_shape(2).ToString(), " for ", shape.ToString()));
  const bool normal = attributes.distribution == RandomDistribution::kNormal;
  if (normal && !IsFloat(shape.element_type()))
    return c.Error("C2", "a normal distribution of numbers that are no floats");
  StatefulRng rng(c, shape);
  Instruction* result =
      normal ? rng.Normal(c.operand(0), c.operand(1)) : rng.Uniform(c.operand(0), c.operand(1));
  SHOAL_RETURN_IF_ERROR(rng.status());
  return c.Alias(result);
}

absl::Status ImportRngBitGenerator(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 2));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view algorithm, c.TextOr("rng_algorithm", "DEFAULT"));
  RngAttributes attributes;
  if (algorithm == "THREE_FRY") {
    attributes.algorithm = RandomAlgorithm::kThreeFry;
  } else if (algorithm == "PHILOX") {
    attributes.algorithm = RandomAlgorithm::kPhilox;
  } else if (algorithm != "DEFAULT") {
    return c.Error(absl::StrCat("the algorithm ", algorithm));
  }
  return c.Emit(Opcode::kRngBitGenerator, c.operands(), attributes);
}

}  // namespace shoal
