#include "core/ops/builder.h"

#include <algorithm>
#include <complex>
#include <utility>

#include "core/base/status.h"
#include "core/ops/shape_inference.h"

namespace shoal {

absl::StatusOr<Instruction*> HloBuilder::Make(Opcode opcode, absl::Span<Instruction* const> operands,
                                              Attributes attributes, absl::Span<Computation* const> called,
                                              const Shape* wanted) {
  SHOAL_ASSIGN_OR_RETURN(
      Shape shape, InferShape(OpView{opcode, operands, attributes, called, wanted, computation_->parent()}));
  Instruction* instruction =
      computation_->Add(opcode, std::move(shape), operands, std::move(attributes), called);
  if (!op_name_.empty()) instruction->set_op_name(op_name_);
  return instruction;
}

Instruction* HloBuilder::Op(Opcode opcode, absl::Span<Instruction* const> operands, Attributes attributes,
                            absl::Span<Computation* const> called, const Shape* wanted) {
  absl::StatusOr<Instruction*> made = Make(opcode, operands, attributes, called, wanted);
  if (made.ok()) return *made;
  if (status_.ok()) status_ = absl::Status(absl::StatusCode::kInternal, made.status().message());
  const Shape shape = wanted != nullptr ? *wanted : operands.empty() ? Shape() : operands[0]->shape();
  return computation_->Add(opcode, shape, operands, std::move(attributes), called);
}

Instruction* HloBuilder::Compare(ComparisonDirection direction, Instruction* x, Instruction* y) {
  return Op(Opcode::kCompare, {x, y}, CompareAttributes{direction});
}

Instruction* HloBuilder::Select(Instruction* predicate, Instruction* on_true, Instruction* on_false) {
  return Op(Opcode::kSelect, {predicate, on_true, on_false});
}

Instruction* HloBuilder::Convert(Instruction* x, ElementType type) {
  if (x->shape().element_type() == type) return x;
  const Shape shape = x->shape().WithElementType(type);
  return Op(Opcode::kConvert, {x}, {}, {}, &shape);
}

Instruction* HloBuilder::BitcastConvert(Instruction* x, const Shape& shape) {
  return Op(Opcode::kBitcastConvert, {x}, {}, {}, &shape);
}

Instruction* HloBuilder::Constant(Literal value) {
  return Op(Opcode::kConstant, {}, ConstantAttributes{std::move(value)});
}

Instruction* HloBuilder::Scalar(ElementType type, double value) {
  return Constant(ScalarLiteral(type, value));
}

Instruction* HloBuilder::Splat(const Shape& shape, double value) {
  return Broadcast(Scalar(shape.element_type(), value), shape.dims(), {});
}

Instruction* HloBuilder::Iota(const Shape& shape, int64_t dimension) {
  return Op(Opcode::kIota, {}, DimensionsAttributes{{dimension}}, {}, &shape);
}

Instruction* HloBuilder::Broadcast(Instruction* x, absl::Span<const int64_t> result_dims,
                                   IntVector dimensions) {
  const Shape shape = x->shape().WithDims(result_dims);
  if (result_dims.empty() && shape == x->shape()) return x;
  return Op(Opcode::kBroadcast, {x}, DimensionsAttributes{std::move(dimensions)}, {}, &shape);
}

Instruction* HloBuilder::Reshape(Instruction* x, absl::Span<const int64_t> dims) {
  if (x->shape().dims() == dims) return x;
  const Shape shape = x->shape().WithDims(dims);
  return Op(Opcode::kReshape, {x}, {}, {}, &shape);
}

Instruction* HloBuilder::Transpose(Instruction* x, IntVector permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  return Op(Opcode::kTranspose, {x}, DimensionsAttributes{std::move(permutation)});
}

Instruction* HloBuilder::Slice(Instruction* x, IntVector starts, IntVector limits, IntVector strides) {
  if (strides.empty()) strides.assign(starts.size(), 1);
  return Op(Opcode::kSlice, {x}, SliceAttributes{std::move(starts), std::move(limits), std::move(strides)});
}

Instruction* HloBuilder::SliceInDim(Instruction* x, int64_t dimension, int64_t start, int64_t limit) {
  IntVector starts(x->shape().rank(), 0), limits(x->shape().dims().begin(), x->shape().dims().end());
  starts[dimension] = start;
  limits[dimension] = limit;
  return Slice(x, std::move(starts), std::move(limits));
}

Instruction* HloBuilder::DynamicSlice(Instruction* x, absl::Span<Instruction* const> starts,
                                      IntVector sizes) {
  std::vector<Instruction*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Op(Opcode::kDynamicSlice, operands, DynamicSliceAttributes{std::move(sizes)});
}

Instruction* HloBuilder::Concatenate(absl::Span<Instruction* const> parts, int64_t dimension) {
  return parts.size() == 1 ? parts[0] : Op(Opcode::kConcatenate, parts, DimensionsAttributes{{dimension}});
}

Instruction* HloBuilder::Dot(Instruction* lhs, Instruction* rhs, DotAttributes dot, ElementType result) {
  const Shape wanted = Shape::Scalar(result);  // only its element type is asked for
  return Op(Opcode::kDot, {lhs, rhs}, std::move(dot), {}, &wanted);
}

Instruction* HloBuilder::Reduce(Instruction* x, Instruction* init, IntVector dimensions, Computation* body) {
  return Op(Opcode::kReduce, {x, init}, DimensionsAttributes{std::move(dimensions)}, {body});
}

Instruction* HloBuilder::Sort(absl::Span<Instruction* const> inputs, int64_t dimension, bool is_stable,
                              Computation* comparator) {
  return Op(Opcode::kSort, inputs, SortAttributes{dimension, is_stable}, {comparator});
}

Instruction* HloBuilder::GetTupleElement(Instruction* tuple, int64_t index) {
  return Op(Opcode::kGetTupleElement, {tuple}, TupleIndexAttributes{index});
}

Instruction* HloBuilder::Call(Computation* callee, absl::Span<Instruction* const> operands) {
  return Op(Opcode::kCall, operands, {}, {callee});
}

Computation* AddScalarBody(Module& module, Opcode opcode, ElementType type) {
  Computation* body = module.AddComputation(OpcodeName(opcode));
  HloBuilder b(body);
  Instruction* lhs = body->AddParameter(0, Shape::Scalar(type), "lhs");
  Instruction* rhs = body->AddParameter(1, Shape::Scalar(type), "rhs");
  body->set_root(b.Binary(opcode, lhs, rhs));
  return body;
}

Literal ScalarLiteral(ElementType type, double value) {
  switch (type) {
    case ElementType::kF32:
      return Literal::Scalar(type, static_cast<float>(value));
    case ElementType::kF64:
      return Literal::Scalar(type, value);
    case ElementType::kC64:
      return Literal::Scalar(type, std::complex<float>(static_cast<float>(value)));
    case ElementType::kC128:
      return Literal::Scalar(type, std::complex<double>(value));
    case ElementType::kPred:
      return Literal::Scalar(type, uint8_t{value != 0});
    default:
      break;
  }
  if (IsFloat(type)) return Literal::Scalar(type, FloatToBits(type, value));
  return IntLiteral(type, type == ElementType::kU64 ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                                    : static_cast<int64_t>(value));
}

Literal IntLiteral(ElementType type, int64_t value) {
  if (!IsInteger(type)) return ScalarLiteral(type, static_cast<double>(value));
  return Literal::Scalar(type, value);
}

}  // namespace shoal
