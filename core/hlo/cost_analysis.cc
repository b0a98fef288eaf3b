#include "core/hlo/cost_analysis.h"

#include <algorithm>

namespace shoal {
namespace {

double Elements(const Shape& shape) {
  double elements = 0;
  for (const Shape& leaf : shape.Leaves()) elements += static_cast<double>(leaf.ElementCount());
  return elements;
}

double Bytes(const Shape& shape) {
  double bytes = 0;
  for (const Shape& leaf : shape.Leaves()) bytes += static_cast<double>(leaf.ByteSize());
  return bytes;
}

// What one evaluation of a computation costs, without the memory that it does not touch as a body of scalars.
Cost BodyCost(const Computation& body) {
  Cost cost;
  for (const Instruction* instruction : body.instructions()) cost += CostOf(*instruction);
  return cost;
}

Cost Arithmetic(const Computation& body, double times) {
  const Cost once = BodyCost(body);
  return {once.flops * times, once.transcendentals * times, 0};
}

double OperandAndResultBytes(const Instruction& op) {
  double bytes = Bytes(op.shape());
  for (const Instruction* operand : op.operands()) bytes += Bytes(operand->shape());
  return bytes;
}

Cost ElementwiseCost(const Instruction& op) {
  const double elements = Elements(op.shape());
  if (op.opcode() == Opcode::kCopy || op.opcode() == Opcode::kBitcastConvert) return {};
  const ElementType type = op.shape().element_type();
  if (IsTranscendental(op.opcode()) && (IsFloat(type) || IsComplex(type))) return {0, elements, 0};
  return {elements, 0, 0};
}

Cost DotCost(const Instruction& op) {
  double contracted = 1;
  for (int64_t d : op.attributes<DotAttributes>().lhs_contracting_dims)
    contracted *= static_cast<double>(op.operand(0)->shape().dim(d));
  return {2 * contracted * Elements(op.shape()), 0, 0};
}

// Positions of one window dimension where the kernel's element meets the input, summed over the kernel.
double MeetingPositions(int64_t input, int64_t output, const WindowDimension& w) {
  // Padding matters little in what is too big to count.
  constexpr int64_t kMaxCounted = int64_t{1} << 20;
  if (w.size > kMaxCounted / std::max<int64_t>(output, 1))
    return static_cast<double>(w.size) * static_cast<double>(output);
  double meetings = 0;
  for (int64_t k = 0; k < w.size; ++k) {
    for (int64_t o = 0; o < output; ++o) {
      const int64_t at = o * w.stride + k * w.window_dilation - w.padding_low;
      meetings += at >= 0 && at % w.base_dilation == 0 && at / w.base_dilation < input;
    }
  }
  return meetings;
}

Cost ConvolutionCost(const Instruction& op) {
  const auto& conv = op.attributes<ConvolutionAttributes>();
  double positions = 1;
  for (size_t i = 0; i < conv.window.size(); ++i) {
    positions *= MeetingPositions(op.operand(0)->shape().dim(conv.input_spatial[i]),
                                  op.shape().dim(conv.output_spatial[i]), conv.window[i]);
  }
  const Shape& kernel = op.operand(1)->shape();
  const double features = static_cast<double>(kernel.dim(conv.kernel_input_feature)) *
                          static_cast<double>(op.shape().dim(conv.output_feature));
  const double batch = static_cast<double>(op.shape().dim(conv.output_batch));
  return {2 * positions * features * batch, 0, 0};
}

Cost ReduceCost(const Instruction& op) {
  const double in = static_cast<double>(op.operand(0)->shape().ElementCount());
  const Shape& first = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
  return Arithmetic(*op.called(0), std::max(0.0, in - static_cast<double>(first.ElementCount())));
}

Cost WindowCost(const Instruction& op) {
  double window = 1;
  for (const WindowDimension& w : op.attributes<WindowAttributes>().window)
    window *= static_cast<double>(w.size);
  if (op.opcode() == Opcode::kReduceWindow) {
    const Shape& first = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
    return Arithmetic(*op.called(0), (window - 1) * static_cast<double>(first.ElementCount()));
  }
  const double source = static_cast<double>(op.operand(1)->shape().ElementCount());
  Cost cost = Arithmetic(*op.called(0), source * (window - 1));
  cost += Arithmetic(*op.called(1), source);
  return cost;
}

Cost ScatterCost(const Instruction& op) {
  const int64_t n = op.operand_count() / 2;
  return Arithmetic(*op.called(0), static_cast<double>(op.operand(n + 1)->shape().ElementCount()));
}

// n log n comparisons count as one flop each.
Cost SortCost(const Instruction& op) {
  const Shape& keys = op.operand(0)->shape();
  const double n = static_cast<double>(keys.ElementCount());
  double log = 0;
  for (double size = 1; size < n; size *= 2) ++log;
  return {n * log, 0, 0};
}

Cost ArithmeticOf(const Instruction& op) {
  switch (FamilyOf(op.opcode())) {
    case OpFamily::kElementwise:
      return ElementwiseCost(op);
    case OpFamily::kDotFamily:
      return DotCost(op);
    case OpFamily::kConvolutionFamily:
      return ConvolutionCost(op);
    case OpFamily::kReduceFamily:
      return ReduceCost(op);
    case OpFamily::kReduceWindowFamily:
      return WindowCost(op);
    case OpFamily::kGatherFamily:
      return op.opcode() == Opcode::kScatter ? ScatterCost(op) : Cost{};
    case OpFamily::kSortFamily:
      return SortCost(op);
    case OpFamily::kFusionFamily:
      return Arithmetic(*op.called(0), 1);
    case OpFamily::kRngFamily:
      return {0, Elements(op.shape()), 0};
    default:
      return {};
  }
}

double BytesOf(const Instruction& op) {
  switch (op.opcode()) {
    case Opcode::kConstant:
    case Opcode::kParameter:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kAfterAll:
    case Opcode::kOptimizationBarrier:
      return 0;
    case Opcode::kTuple:
      return static_cast<double>(op.operand_count() * sizeof(void*));
    case Opcode::kIota:
      return Bytes(op.shape());
    case Opcode::kSlice:
      return 2 * Bytes(op.shape());
    case Opcode::kDynamicSlice:
      return 2 * Bytes(op.shape()) +
             Bytes(op.operand(0)->shape().WithDims({})) * static_cast<double>(op.operand_count() - 1);
    case Opcode::kDynamicUpdateSlice:
      return 2 * Bytes(op.operand(1)->shape());
    case Opcode::kGather:
      return 2 * Bytes(op.shape()) + Bytes(op.operand(1)->shape());
    case Opcode::kScatter: {
      const int64_t n = op.operand_count() / 2;
      return 3 * static_cast<double>(n) * Bytes(op.operand(n + 1)->shape()) + Bytes(op.operand(n)->shape());
    }
    default:
      return OperandAndResultBytes(op);
  }
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  transcendentals += other.transcendentals;
  bytes_accessed += other.bytes_accessed;
  return *this;
}

Cost CostOf(const Instruction& op) {
  // What a loop or call costs is what its computations cost, once each; a conditional the dearest branch by
  // each measure.
  if (FamilyOf(op.opcode()) == OpFamily::kControlFamily) {
    Cost cost;
    for (const Computation* callee : op.called()) {
      const Cost one = BodyCost(*callee);
      if (op.opcode() != Opcode::kConditional) {
        cost += one;
        continue;
      }
      cost.flops = std::max(cost.flops, one.flops);
      cost.transcendentals = std::max(cost.transcendentals, one.transcendentals);
      cost.bytes_accessed = std::max(cost.bytes_accessed, one.bytes_accessed);
    }
    return cost;
  }
  Cost cost = ArithmeticOf(op);
  cost.bytes_accessed = BytesOf(op);
  return cost;
}

Cost CostOf(const Module& module) { return BodyCost(*module.entry()); }

}  // namespace shoal
