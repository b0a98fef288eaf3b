// The batch normalisations, which HLO has not got: written out by the formulas of StableHLO's specification.
// Floats narrower than f32 are computed in f32.
#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

class BatchNorm {
 public:
  // The first operand is the array, all others are arrays of its shape or vectors of its features.
  // `labels`: of the constraints on those; operand `whole` is an array.
  static absl::StatusOr<BatchNorm> Create(OpImporter& c, std::vector<absl::string_view> labels, int results,
                                          size_t whole = 0) {
    const size_t operands = labels.size() + 1;
    SHOAL_RETURN_IF_ERROR(c.Expect(operands, results));
    SHOAL_ASSIGN_OR_RETURN(int64_t feature, c.Int("feature_index"));
    const MlirAttribute* epsilon = c.Find("epsilon");
    if (epsilon == nullptr || epsilon->kind != MlirAttributeKind::kFloat)
      return c.Error("epsilon is missing");
    for (size_t i = 0; i < operands; ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
    const Shape& shape = c.operand_shape(0);
    if (!IsFloat(shape.element_type())) return c.Error("the operand has no floats");
    if (feature < 0 || feature >= shape.rank())
      return c.Error("C1", absl::StrCat("feature_index is ", feature));
    for (size_t i = 1; i < operands; ++i) {
      const Shape& other = c.operand_shape(i);
      if (other.element_type() != shape.element_type())
        return c.Error("C2",
                       absl::StrCat("operand ", i, " is ", other.ToString(), " for ", shape.ToString()));
      const bool vector = other.rank() == 1 && other.dim(0) == shape.dim(feature);
      if (i == whole ? other != shape : !vector) {
        return c.Error(labels[i - 1],
                       absl::StrCat("operand ", i, " is ", other.ToString(), " for ", shape.ToString(),
                                    " with features in dimension ", feature));
      }
    }
    return BatchNorm(c, feature, epsilon->number);
  }

  Instruction* operand(size_t i) { return b_.Convert(c_.operand(i), type_); }
  // A vector of features, for every place of the array.
  Instruction* Spread(Instruction* vector) { return b_.Broadcast(vector, shape_.dims(), {feature_}); }
  Instruction* Sum(Instruction* array) {
    IntVector dimensions;
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      if (d != feature_) dimensions.push_back(d);
    }
    Computation* add = AddScalarBody(c_.module(), Opcode::kAdd, type_);
    return b_.Reduce(array, b_.Scalar(type_, 0), std::move(dimensions), add);
  }
  // How many numbers a feature has, like `vector` or `array`.
  Instruction* Count(Instruction* like) {
    const int64_t count = shape_.dim(feature_) == 0 ? 0 : shape_.ElementCount() / shape_.dim(feature_);
    return b_.Splat(like->shape(), static_cast<double>(count));
  }
  Instruction* Mean(Instruction* array) {
    Instruction* sum = Sum(array);
    return b_.Divide(sum, Count(sum));
  }
  Instruction* WithEpsilon(Instruction* variance) {
    return b_.Add(variance, b_.Splat(variance->shape(), epsilon_));
  }
  Instruction* Normalise(Instruction* scale, Instruction* offset, Instruction* mean, Instruction* variance) {
    Instruction* centred = b_.Subtract(operand(0), Spread(mean));
    Instruction* deviation = Spread(b_.Unary(Opcode::kSqrt, WithEpsilon(variance)));
    return b_.Add(b_.Multiply(Spread(scale), b_.Divide(centred, deviation)), Spread(offset));
  }

  absl::Status Finish(std::vector<Instruction*> results) {
    for (Instruction*& result : results) result = b_.Convert(result, c_.operand_shape(0).element_type());
    SHOAL_RETURN_IF_ERROR(b_.status());
    if (results.size() == 1) return c_.Alias(results[0]);
    return c_.Finish(b_.Tuple(results), /*is_tuple=*/true);
  }

  HloBuilder& b() { return b_; }

 private:
  BatchNorm(OpImporter& c, int64_t feature, double epsilon)
      : c_(c), b_(&c.computation()), feature_(feature), epsilon_(epsilon) {
    const ElementType type = c.operand_shape(0).element_type();
    type_ = IsNarrowFloat(type) ? ElementType::kF32 : type;
    shape_ = c.operand_shape(0).WithElementType(type_);
  }

  OpImporter& c_;
  HloBuilder b_;
  const int64_t feature_;
  const double epsilon_;
  ElementType type_;
  Shape shape_;
};

}  // namespace

// operand, scale, offset, mean, variance
absl::Status ImportBatchNormInference(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(BatchNorm n, BatchNorm::Create(c, {"C3", "C4", "C5", "C6"}, 1));
  return n.Finish({n.Normalise(n.operand(1), n.operand(2), n.operand(3), n.operand(4))});
}

// operand, scale, offset
absl::Status ImportBatchNormTraining(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(BatchNorm n, BatchNorm::Create(c, {"C3", "C4"}, 3));
  HloBuilder& b = n.b();
  Instruction* mean = n.Mean(n.operand(0));
  Instruction* centred = b.Subtract(n.operand(0), n.Spread(mean));
  Instruction* variance = n.Mean(b.Multiply(centred, centred));
  return n.Finish({n.Normalise(n.operand(1), n.operand(2), mean, variance), mean, variance});
}

// operand, scale, mean, variance, grad_output
absl::Status ImportBatchNormGrad(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(BatchNorm n, BatchNorm::Create(c, {"C5", "C4", "C4", "C3"}, 3, 4));
  HloBuilder& b = n.b();
  Instruction *scale = n.operand(1), *grad = n.operand(4);
  Instruction* centred = b.Subtract(n.operand(0), n.Spread(n.operand(2)));
  Instruction* variance = n.WithEpsilon(n.operand(3));
  Instruction* deviation = b.Unary(Opcode::kSqrt, variance);
  Instruction* grad_offset = n.Sum(grad);
  Instruction* along = n.Sum(b.Multiply(grad, centred));
  Instruction* rest = b.Subtract(b.Multiply(grad, n.Count(grad)), n.Spread(grad_offset));
  rest = b.Subtract(rest, b.Divide(b.Multiply(n.Spread(along), centred), n.Spread(variance)));
  Instruction* factor = b.Divide(b.Divide(scale, deviation), n.Count(scale));
  return n.Finish({b.Multiply(n.Spread(factor), rest), b.Divide(along, deviation), grad_offset});
}

}  // namespace shoal
