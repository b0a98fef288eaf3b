#include "sharding/partition/sample_sort.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/ops/builder.h"
#include "sharding/mesh/axes.h"
#include "sharding/reshard/cost.h"

namespace shoal {
namespace {

// More parts than this make too many samples and comparisons; shorter ones are not worth the steps.
constexpr int64_t kMaxParts = 64;
constexpr int64_t kLeastPerPart = 16;  // times the number of parts
constexpr double kSteps = 8 * kStepCost;

// "a < b" of floats is no order of all of them, for there are NaNs; equality is none at all.
bool IsOrderOfSome(const Instruction& compare) {
  const auto& attributes = compare.attributes<CompareAttributes>();
  const bool is_equality =
      attributes.direction == ComparisonDirection::kEq || attributes.direction == ComparisonDirection::kNe;
  return !is_equality && !attributes.total_order && IsFloat(compare.operand(0)->shape().element_type());
}

// The comparator says a strict order of all values, and may be applied to arrays, element by element.
bool IsTotal(const Computation& comparator) {
  const std::vector<Instruction*> all = comparator.instructions();
  return std::all_of(all.begin(), all.end(), [](const Instruction* op) {
    if (!op->called().empty() || !op->shape().IsArray() || op->shape().rank() > 0) return false;
    if (op->opcode() == Opcode::kParameter || op->opcode() == Opcode::kConstant) return true;
    if (FamilyOf(op->opcode()) != OpFamily::kElementwise) return false;
    return op->opcode() != Opcode::kCompare || !IsOrderOfSome(*op);
  });
}

class SampleSorter {
 public:
  SampleSorter(Region& region, const Instruction& old, const AxisList& axes)
      : region_(region),
        builder_(region.builder()),
        b_(builder_.computation()),
        comparator_(old.called(0)),
        axes_(axes),
        parts_(SizeOf(axes)),
        length_(old.operand(0)->shape().dim(0) / parts_),
        step_((length_ + parts_ - 1) / parts_),
        sum_(AddScalarBody(region.context().module(), Opcode::kAdd, ElementType::kS64)) {
    b_.set_op_name(old.op_name());
  }

  absl::StatusOr<std::vector<Instruction*>> Sort(absl::Span<Instruction* const> parts) {
    me_ = b_.Convert(builder_.Coordinate(axes_), ElementType::kS64);
    std::vector<Instruction*> own(parts.begin(), parts.end());
    own.push_back(Positions());
    own = Sorted(own, WithPosition());
    const std::vector<Instruction*> samples = Samples(own);
    Exchange(own, samples);
    own.pop_back();  // what comes stands in the order of positions
    own = Sorted(Buckets(own, samples), comparator_);
    own = Shifted(own);
    SHOAL_RETURN_IF_ERROR(b_.status());
    return own;
  }

 private:
  int64_t samples_each() const { return (length_ + step_ - 1) / step_ + 1; }
  // Of a bucket: that many samples in all, and from each part up to a step before its first one.
  int64_t bucket() const { return std::min((samples_each() + parts_) * step_, parts_ * length_); }
  Shape Numbers() const { return Shape::Array(ElementType::kS64, {parts_}); }

  Instruction* Splat(int64_t value) { return b_.Splat(Numbers(), static_cast<double>(value)); }
  Instruction* EachOf(Instruction* scalar) { return b_.Broadcast(scalar, {parts_}, {}); }
  Instruction* Clamped(Instruction* x, Instruction* high) {
    return b_.Minimum(b_.Maximum(x, Splat(0)), high);
  }
  Instruction* Times(Instruction* x, int64_t factor) {
    return b_.Multiply(x, b_.Splat(x->shape(), static_cast<double>(factor)));
  }
  // Of a vector of one number a part: the sums of those before each, and this part's own.
  Instruction* SumsBefore(Instruction* x) {
    const Shape square = Shape::Array(ElementType::kS64, {parts_, parts_});
    Instruction* before = b_.Compare(ComparisonDirection::kLt, b_.Iota(square, 1), b_.Iota(square, 0));
    Instruction* counted = b_.Select(before, b_.Broadcast(x, square.dims(), {1}), b_.Splat(square, 0));
    return b_.Reduce(counted, b_.Scalar(ElementType::kS64, 0), {1}, sum_);
  }
  Instruction* OfMe(Instruction* x) {
    return b_.Reshape(builder_.DynamicSlice(x, 0, builder_.Coordinate(axes_), 1), {});
  }

  // s32[length] where each element stands in the whole.
  Instruction* Positions() {
    const Shape shape = Shape::Array(ElementType::kS32, {length_});
    Instruction* begin =
        builder_.Binary(Opcode::kMultiply, builder_.Coordinate(axes_), builder_.ConstantS32(length_));
    return b_.Add(b_.Iota(shape, 0), b_.Broadcast(begin, {length_}, {}));
  }
  // The comparator with one more array.
  Computation* WithPosition() {
    Computation* longer = region_.context().module().CloneComputation(*comparator_);
    const auto count = static_cast<int64_t>(comparator_->parameters().size());
    longer->AddParameter(count, Shape::Scalar(ElementType::kS32));
    longer->AddParameter(count + 1, Shape::Scalar(ElementType::kS32));
    return longer;
  }
  std::vector<Instruction*> Sorted(absl::Span<Instruction* const> arrays, Computation* comparator) {
    return region_.Explode(b_.Sort(arrays, 0, /*is_stable=*/true, comparator));
  }

  // Every step-th of each part's own and its last, of all parts, sorted.
  std::vector<Instruction*> Samples(absl::Span<Instruction* const> own) {
    std::vector<Instruction*> all;
    for (Instruction* x : own) {
      Instruction* some = b_.Concatenate(
          {b_.Slice(x, {0}, {length_}, {step_}), b_.Slice(x, {length_ - 1}, {length_}, {1})}, 0);
      all.push_back(builder_.AllGather(some, axes_, 0));
    }
    return Sorted(all, WithPosition());
  }
  // The first sample of each bucket but the first one.
  Instruction* Pivots(Instruction* samples) {
    const int64_t each = samples_each();
    return b_.Slice(samples, {each}, {(parts_ - 1) * each + 1}, {each});
  }

  // pred[parts-1, length]: whether a stands before b. Arrays of that shape, one an operand.
  Instruction* IsLess(absl::Span<Instruction* const> a, absl::Span<Instruction* const> b) {
    absl::flat_hash_map<const Instruction*, Instruction*> made;
    const auto dims = a[0]->shape().dims();
    for (const Instruction* op : comparator_->instructions()) {
      if (op->opcode() == Opcode::kParameter) {
        const int64_t number = op->parameter_number();
        made[op] = number % 2 == 0 ? a[number / 2] : b[number / 2];
      } else if (op->opcode() == Opcode::kConstant) {
        made[op] = b_.Broadcast(b_.Constant(op->literal()), dims, {});
      } else {
        std::vector<Instruction*> operands;
        for (const Instruction* operand : op->operands()) operands.push_back(made.at(operand));
        made[op] = builder_.Add(op->opcode(), Shape::Array(op->shape().element_type(), dims), operands,
                                op->attributes());
      }
    }
    return made.at(comparator_->root());
  }

  // Where each bucket begins in the own part, how long its piece there is, and what comes for the own bucket.
  void Exchange(absl::Span<Instruction* const> own, absl::Span<Instruction* const> samples) {
    const DimVector dims = {parts_ - 1, length_};
    std::vector<Instruction*> values, pivots;
    for (size_t i = 0; i < own.size(); ++i) {
      values.push_back(b_.Broadcast(own[i], dims, {1}));
      pivots.push_back(b_.Broadcast(Pivots(samples[i]), dims, {0}));
    }
    Instruction* not_after = b_.Unary(Opcode::kNot, IsLess(pivots, values));
    Instruction* earlier = b_.Compare(ComparisonDirection::kLt, values.back(), pivots.back());
    Instruction* before = b_.Or(IsLess(values, pivots), b_.And(not_after, earlier));
    Instruction* ends =
        b_.Reduce(b_.Convert(before, ElementType::kS64), b_.Scalar(ElementType::kS64, 0), {1}, sum_);
    const Shape one = Shape::Array(ElementType::kS64, {1});
    first_ = b_.Concatenate({b_.Splat(one, 0), ends}, 0);
    ends = b_.Concatenate({ends, b_.Splat(one, static_cast<double>(length_))}, 0);
    sent_ = b_.Subtract(ends, first_);
    received_ = builder_.AllToAll(sent_, axes_);
  }

  // The own bucket's pieces of all parts, in their order. What is left of its room is not before any of them:
  // the next bucket's first sample, or the greatest one.
  std::vector<Instruction*> Buckets(absl::Span<Instruction* const> own,
                                    absl::Span<Instruction* const> samples) {
    Instruction* target = SumsBefore(received_);
    std::vector<Instruction*> buckets;
    for (size_t i = 0; i < own.size(); ++i) {
      const int64_t last = samples[i]->shape().dim(0);
      Instruction* nexts =
          b_.Concatenate({Pivots(samples[i]), b_.Slice(samples[i], {last - 1}, {last}, {1})}, 0);
      Instruction* room = b_.Broadcast(OfMe(nexts), {bucket()}, {});
      buckets.push_back(builder_.RaggedAllToAll({own[i], room, first_, sent_, target, received_}, axes_));
    }
    return buckets;
  }

  // Part p gets the elements [p*length, (p+1)*length) of all buckets, one after the other.
  std::vector<Instruction*> Shifted(absl::Span<Instruction* const> buckets) {
    Instruction* total = b_.Reduce(received_, b_.Scalar(ElementType::kS64, 0), {0}, sum_);
    Instruction* totals = builder_.AllGather(b_.Reshape(total, {1}), axes_, 0);
    Instruction* begins = SumsBefore(totals);
    // Of the own bucket for each part.
    Instruction* ahead = b_.Subtract(Times(b_.Iota(Numbers(), 0), length_), EachOf(OfMe(begins)));
    Instruction* first = Clamped(ahead, EachOf(total));
    Instruction* sent = b_.Subtract(Clamped(b_.Add(ahead, Splat(length_)), EachOf(total)), first);
    // Of each bucket for the own part.
    Instruction* after = b_.Subtract(begins, EachOf(Times(me_, length_)));
    Instruction* target = Clamped(after, Splat(length_));
    Instruction* received = b_.Subtract(Clamped(b_.Add(after, totals), Splat(length_)), target);
    std::vector<Instruction*> results;
    for (Instruction* x : buckets) {
      Instruction* zeros = b_.Splat(x->shape().WithDims({length_}), 0);
      results.push_back(builder_.RaggedAllToAll({x, zeros, first, sent, target, received}, axes_));
    }
    return results;
  }

  Region& region_;
  LocalBuilder& builder_;
  HloBuilder b_;
  Computation* const comparator_;
  const AxisList& axes_;
  const int64_t parts_, length_, step_;
  Computation* const sum_;
  Instruction* me_ = nullptr;
  Instruction *first_ = nullptr, *sent_ = nullptr, *received_ = nullptr;  // of the first exchange
};

}  // namespace

bool CanSampleSort(const Instruction& old, int64_t parts) {
  const Shape& shape = old.operand(0)->shape();
  if (shape.rank() != 1 || parts < 2 || parts > kMaxParts) return false;
  const int64_t size = shape.dim(0);
  return size % parts == 0 && size / parts >= kLeastPerPart * parts &&
         size <= std::numeric_limits<int32_t>::max() && IsTotal(*old.called(0));
}

double SampleSortCost(const Instruction& old, int64_t parts) {
  double bytes = 0;
  for (const Instruction* operand : old.operands()) {
    bytes += static_cast<double>(operand->shape().ByteSize() / parts);
  }
  return 2 * bytes + kSteps;
}

absl::StatusOr<std::vector<Instruction*>> SampleSort(Region& region, const Instruction& old,
                                                     absl::Span<Instruction* const> parts,
                                                     const AxisList& axes) {
  return SampleSorter(region, old, axes).Sort(parts);
}

}  // namespace shoal
