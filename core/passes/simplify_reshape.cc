// Rules of broadcast, reshape, transpose.
#include <algorithm>

#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

IntVector DimensionsOf(const Instruction& op) { return op.attributes<DimensionsAttributes>().dimensions; }

Instruction* SameShape(Instruction& op, HloBuilder&) {
  return op.operand(0)->shape() == op.shape() ? op.operand(0) : nullptr;
}

Instruction* BroadcastToItself(Instruction& op, HloBuilder&) {
  return op.operand(0)->shape() == op.shape() && IsIdentityPermutation(op.dimensions()) ? op.operand(0)
                                                                                        : nullptr;
}

Instruction* BroadcastOfBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kBroadcast) return nullptr;
  IntVector dimensions;
  for (int64_t d : inner->dimensions()) dimensions.push_back(op.dimensions()[d]);
  return b.Broadcast(inner->operand(0), op.shape().dims(), std::move(dimensions));
}

// A broadcast that only adds dimensions of size 1 moves nothing.
Instruction* BroadcastAsReshape(Instruction& op, HloBuilder& b) {
  const auto dimensions = op.dimensions();
  if (op.operand(0)->shape().ElementCount() != op.shape().ElementCount() ||
      !std::is_sorted(dimensions.begin(), dimensions.end()) || op.shape().ElementCount() == 0)
    return nullptr;
  return b.Reshape(op.operand(0), op.shape().dims());
}

// A splat constant is a scalar, broadcast: nothing to keep in memory, and rules see its value.
Instruction* SplatConstant(Instruction& op, HloBuilder& b) {
  if (op.shape().IsScalar() || op.shape().ElementCount() < 2 || SplatOf(&op) == nullptr) return nullptr;
  const size_t width = ByteWidth(op.shape().element_type());
  absl::StatusOr<Literal> scalar =
      Literal::FromBytes(Shape::Scalar(op.shape().element_type()), std::string(op.literal().data(), width));
  if (!scalar.ok()) return nullptr;
  return b.Broadcast(b.Constant(*std::move(scalar)), op.shape().dims(), {});
}

Instruction* ReshapeOfReshape(Instruction& op, HloBuilder& b) {
  const Opcode inner = op.operand(0)->opcode();
  return inner == Opcode::kReshape ? b.Reshape(op.operand(0)->operand(0), op.shape().dims()) : nullptr;
}

Instruction* ReshapeOfScalarBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kBroadcast || !inner->operand(0)->shape().IsScalar()) return nullptr;
  return b.Broadcast(inner->operand(0), op.shape().dims(), {});
}

// reshape(broadcast(x)) -> broadcast(x), if the reshape only adds or drops dimensions of size 1 and none that
// x has.
Instruction* ReshapeOfBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kBroadcast || !SameWideSizes(inner->shape().dims(), op.shape().dims()))
    return nullptr;
  const IntVector from = WideDimensions(inner->shape().dims()), to = WideDimensions(op.shape().dims());
  IntVector dimensions;
  for (int64_t d : inner->dimensions()) {
    const auto at = std::find(from.begin(), from.end(), d);
    if (at == from.end()) return nullptr;
    dimensions.push_back(to[at - from.begin()]);
  }
  return b.Broadcast(inner->operand(0), op.shape().dims(), std::move(dimensions));
}

Instruction* TransposeByIdentity(Instruction& op, HloBuilder&) {
  return IsIdentityPermutation(op.dimensions()) ? op.operand(0) : nullptr;
}

Instruction* TransposeOfTranspose(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kTranspose) return nullptr;
  IntVector permutation;
  for (int64_t d : op.dimensions()) permutation.push_back(inner->dimensions()[d]);
  return b.Transpose(inner->operand(0), std::move(permutation));
}

Instruction* TransposeOfBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kBroadcast) return nullptr;
  const IntVector permutation = DimensionsOf(op);
  IntVector dimensions;
  for (int64_t d : inner->dimensions())
    dimensions.push_back(std::find(permutation.begin(), permutation.end(), d) - permutation.begin());
  return b.Broadcast(inner->operand(0), op.shape().dims(), std::move(dimensions));
}

// Only dimensions of size 1 change places.
Instruction* TransposeAsReshape(Instruction& op, HloBuilder& b) {
  IntVector wide;
  for (int64_t d : op.dimensions()) {
    if (op.operand(0)->shape().dim(d) != 1) wide.push_back(d);
  }
  return std::is_sorted(wide.begin(), wide.end()) ? b.Reshape(op.operand(0), op.shape().dims()) : nullptr;
}

// Iota along a dimension that is one element long counts nothing.
Instruction* IotaOfOne(Instruction& op, HloBuilder& b) {
  return op.shape().dim(op.dimensions()[0]) == 1 ? b.Splat(op.shape(), 0) : nullptr;
}

// An iota of more than one dimension repeats one of one dimension.
Instruction* IotaOfManyDimensions(Instruction& op, HloBuilder& b) {
  if (op.shape().rank() < 2) return nullptr;
  const int64_t d = op.dimensions()[0];
  return b.Broadcast(b.Iota(op.shape().WithDims({op.shape().dim(d)}), 0), op.shape().dims(), {d});
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kBitcast, "bitcast to itself", SameShape},
    {Opcode::kBroadcast, "broadcast to itself", BroadcastToItself},
    {Opcode::kBroadcast, "broadcast of broadcast", BroadcastOfBroadcast},
    {Opcode::kBroadcast, "broadcast as reshape", BroadcastAsReshape},
    {Opcode::kConstant, "splat constant", SplatConstant},
    {Opcode::kIota, "iota of one", IotaOfOne},
    {Opcode::kIota, "iota of many dimensions", IotaOfManyDimensions},
    {Opcode::kReshape, "reshape to itself", SameShape},
    {Opcode::kReshape, "reshape of reshape", ReshapeOfReshape},
    {Opcode::kReshape, "reshape of a scalar's broadcast", ReshapeOfScalarBroadcast},
    {Opcode::kReshape, "reshape of broadcast", ReshapeOfBroadcast},
    {Opcode::kTranspose, "transpose by identity", TransposeByIdentity},
    {Opcode::kTranspose, "transpose of transpose", TransposeOfTranspose},
    {Opcode::kTranspose, "transpose of broadcast", TransposeOfBroadcast},
    {Opcode::kTranspose, "transpose as reshape", TransposeAsReshape},
};

}  // namespace

absl::Span<const SimplifyRow> ReshapeRules() { return kRows; }

}  // namespace shoal
