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

// Every step-th element of a part is a sample.
int64_t StepOf(int64_t length, int64_t parts) { return (length + parts - 1) / parts; }
// Those, and the part's last.
int64_t SamplesEach(int64_t length, int64_t parts) {
  const int64_t step = StepOf(length, parts);
  return (length + step - 1) / step + 1;
}

// Works on arrays [rows, length]: what is sorted is their last dimension.
class SampleSorter {
 public:
  SampleSorter(Region& region, const Instruction& old, const Shape& part, const AxisList& axes)
      : region_(region),
        builder_(region.builder()),
        b_(builder_.computation()),
        comparator_(old.called(0)),
        axes_(axes),
        dim_(old.attributes<SortAttributes>().dimension),
        size_(old.operand(0)->shape().dim(dim_)),
        parts_(SizeOf(axes)),
        length_(part.dim(dim_)),
        rows_(part.ElementCount() / length_),
        step_(StepOf(length_, parts_)),
        sum_(AddScalarBody(region.context().module(), Opcode::kAdd, ElementType::kS64)) {
    b_.set_op_name(old.op_name());
  }

  absl::StatusOr<std::vector<Instruction*>> Sort(absl::Span<Instruction* const> parts) {
    std::vector<Instruction*> own;
    for (Instruction* part : parts) own.push_back(Rows(part));
    own.push_back(Positions());
    own = Sorted(own, WithPosition());
    const std::vector<Instruction*> samples = Samples(own);
    Exchange(own, samples);
    // What comes stands in the order of positions; they say only what is past the end.
    if (!HasPadding()) own.pop_back();
    own = Sorted(Buckets(own, samples), HasPadding() ? WithPosition() : comparator_);
    if (HasPadding()) own.pop_back();
    own = Shifted(own);
    for (size_t i = 0; i < own.size(); ++i) own[i] = LikePart(own[i], parts[i]->shape());
    SHOAL_RETURN_IF_ERROR(b_.status());
    return own;
  }

 private:
  bool HasPadding() const { return parts_ * length_ != size_; }
  int64_t samples_each() const { return SamplesEach(length_, parts_); }
  // Of a bucket: that many samples in all, and from each part up to a step before its first one.
  int64_t bucket() const { return std::min((samples_each() + parts_) * step_, parts_ * length_); }
  // One number a row and part.
  Shape Numbers() const { return Shape::Array(ElementType::kS64, {rows_, parts_}); }

  // The sorted dimension last, all others one; and back.
  IntVector SortedLast(int64_t rank) const {
    IntVector order;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim_) order.push_back(d);
    }
    order.push_back(dim_);
    return order;
  }
  Instruction* Rows(Instruction* part) {
    return b_.Reshape(b_.Transpose(part, SortedLast(part->shape().rank())), {rows_, length_});
  }
  Instruction* LikePart(Instruction* rows, const Shape& part) {
    const IntVector order = SortedLast(part.rank());
    DimVector dims;
    IntVector back(part.rank());
    for (size_t i = 0; i < order.size(); ++i) {
      dims.push_back(part.dim(order[i]));
      back[order[i]] = static_cast<int64_t>(i);
    }
    return b_.Transpose(b_.Reshape(rows, dims), back);
  }

  Instruction* Splat(int64_t value) { return b_.Splat(Numbers(), static_cast<double>(value)); }
  Instruction* EachOf(Instruction* x) { return b_.Broadcast(x, {rows_, parts_}, {0}); }
  Instruction* Clamped(Instruction* x, Instruction* high) {
    return b_.Minimum(b_.Maximum(x, Splat(0)), high);
  }
  Instruction* Times(Instruction* x, int64_t factor) {
    return b_.Multiply(x, b_.Splat(x->shape(), static_cast<double>(factor)));
  }
  // Sums over the last dimension.
  Instruction* Sums(Instruction* x) {
    return b_.Reduce(x, b_.Scalar(ElementType::kS64, 0), {x->shape().rank() - 1}, sum_);
  }
  // Of one number a row and part: the sums of those of the parts before each, and this part's own.
  Instruction* SumsBefore(Instruction* x) {
    const Shape square = Shape::Array(ElementType::kS64, {rows_, parts_, parts_});
    Instruction* before = b_.Compare(ComparisonDirection::kLt, b_.Iota(square, 2), b_.Iota(square, 1));
    return Sums(b_.Select(before, b_.Broadcast(x, square.dims(), {0, 2}), b_.Splat(square, 0)));
  }
  Instruction* OfMe(Instruction* x) {
    return b_.Reshape(builder_.DynamicSlice(x, 1, builder_.Coordinate(axes_), 1), {rows_});
  }

  // [rows, length]: where each element stands in the whole dimension.
  Instruction* Positions() {
    const Shape shape = Shape::Array(builder_.position_type(), {rows_, length_});
    Instruction* begin =
        builder_.Binary(Opcode::kMultiply, builder_.Coordinate(axes_), builder_.Position(length_));
    return b_.Add(b_.Iota(shape, 1), b_.Broadcast(begin, shape.dims(), {}));
  }
  // `less` of two elements at these positions; what is past the end comes after all others.
  Instruction* PaddingLast(HloBuilder& b, Instruction* less, Instruction* position, Instruction* other) {
    Instruction* end = b.Splat(position->shape(), static_cast<double>(size_));
    Instruction* exists = b.Compare(ComparisonDirection::kLt, position, end);
    return b.And(exists, b.Or(b.Compare(ComparisonDirection::kGe, other, end), less));
  }
  // The comparator with one more array.
  Computation* WithPosition() {
    Computation* longer = region_.context().module().CloneComputation(*comparator_);
    const auto count = static_cast<int64_t>(comparator_->parameters().size());
    Instruction* a = longer->AddParameter(count, Shape::Scalar(builder_.position_type()));
    Instruction* other = longer->AddParameter(count + 1, Shape::Scalar(builder_.position_type()));
    if (!HasPadding()) return longer;
    HloBuilder b(longer);
    longer->set_root(PaddingLast(b, longer->root(), a, other));
    return longer;
  }
  std::vector<Instruction*> Sorted(absl::Span<Instruction* const> arrays, Computation* comparator) {
    return region_.Explode(b_.Sort(arrays, 1, /*is_stable=*/true, comparator));
  }

  // Every step-th of each part's own and its last, of all parts, sorted.
  std::vector<Instruction*> Samples(absl::Span<Instruction* const> own) {
    std::vector<Instruction*> all;
    for (Instruction* x : own) {
      Instruction* some = b_.Concatenate({builder_.Slice(x, 1, 0, length_, step_), Last(x)}, 1);
      all.push_back(builder_.AllGather(some, axes_, 1));
    }
    return Sorted(all, WithPosition());
  }
  Instruction* Last(Instruction* x) {
    const int64_t size = x->shape().dim(1);
    return builder_.Slice(x, 1, size - 1, size);
  }
  // The first sample of each bucket but the first one.
  Instruction* Pivots(Instruction* samples) {
    const int64_t each = samples_each();
    return builder_.Slice(samples, 1, each, (parts_ - 1) * each + 1, each);
  }

  // pred[rows, parts-1, length]: whether a stands before b. Arrays of that shape, one an operand, and their
  // positions.
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
    Instruction* less = made.at(comparator_->root());
    return HasPadding() ? PaddingLast(b_, less, a.back(), b.back()) : less;
  }

  // Where each bucket begins in the own part, how long its piece there is, and what comes for the own bucket.
  void Exchange(absl::Span<Instruction* const> own, absl::Span<Instruction* const> samples) {
    const DimVector dims = {rows_, parts_ - 1, length_};
    std::vector<Instruction*> values, pivots;
    for (size_t i = 0; i < own.size(); ++i) {
      values.push_back(b_.Broadcast(own[i], dims, {0, 2}));
      pivots.push_back(b_.Broadcast(Pivots(samples[i]), dims, {0, 1}));
    }
    Instruction* not_after = b_.Unary(Opcode::kNot, IsLess(pivots, values));
    Instruction* earlier = b_.Compare(ComparisonDirection::kLt, values.back(), pivots.back());
    Instruction* before = b_.Or(IsLess(values, pivots), b_.And(not_after, earlier));
    Instruction* ends = Sums(b_.Convert(before, ElementType::kS64));
    const Shape column = Shape::Array(ElementType::kS64, {rows_, 1});
    first_ = b_.Concatenate({b_.Splat(column, 0), ends}, 1);
    ends = b_.Concatenate({ends, b_.Splat(column, static_cast<double>(length_))}, 1);
    sent_ = b_.Subtract(ends, first_);
    received_ = b_.Transpose(builder_.AllToAll(b_.Transpose(sent_, {1, 0}), axes_), {1, 0});
  }

  // `x`'s rows are sent to those of `room`, a piece a row and part (core/hlo/ragged_all_to_all.h).
  Instruction* Send(Instruction* x, Instruction* room, Instruction* first, Instruction* sent,
                    Instruction* target, Instruction* received) {
    const auto flat = [&](Instruction* rows) { return b_.Reshape(rows, {rows->shape().ElementCount()}); };
    // By part, then by row.
    const auto numbers = [&](Instruction* of_rows) { return flat(b_.Transpose(of_rows, {1, 0})); };
    const auto places = [&](Instruction* in_rows, int64_t row_length) {
      return numbers(b_.Add(in_rows, Times(b_.Iota(Numbers(), 0), row_length)));
    };
    Instruction* all =
        builder_.RaggedAllToAll({flat(x), flat(room), places(first, x->shape().dim(1)), numbers(sent),
                                 places(target, room->shape().dim(1)), numbers(received)},
                                axes_);
    return b_.Reshape(all, room->shape().dims());
  }

  // The own bucket's pieces of all parts, in their order. What is left of its room is not before any of them:
  // the next bucket's first sample, or the greatest one.
  std::vector<Instruction*> Buckets(absl::Span<Instruction* const> own,
                                    absl::Span<Instruction* const> samples) {
    Instruction* target = SumsBefore(received_);
    std::vector<Instruction*> buckets;
    for (size_t i = 0; i < own.size(); ++i) {
      Instruction* nexts = b_.Concatenate({Pivots(samples[i]), Last(samples[i])}, 1);
      Instruction* room = b_.Broadcast(OfMe(nexts), {rows_, bucket()}, {0});
      buckets.push_back(Send(own[i], room, first_, sent_, target, received_));
    }
    return buckets;
  }

  // Part p gets the elements [p*length, (p+1)*length) of all buckets, one after the other.
  std::vector<Instruction*> Shifted(absl::Span<Instruction* const> buckets) {
    Instruction* total = Sums(received_);
    Instruction* totals = builder_.AllGather(b_.Reshape(total, {rows_, 1}), axes_, 1);
    Instruction* begins = SumsBefore(totals);
    // Of the own bucket for each part.
    Instruction* ahead = b_.Subtract(Times(b_.Iota(Numbers(), 1), length_), EachOf(OfMe(begins)));
    Instruction* first = Clamped(ahead, EachOf(total));
    Instruction* sent = b_.Subtract(Clamped(b_.Add(ahead, Splat(length_)), EachOf(total)), first);
    // Of each bucket for the own part.
    Instruction* me = b_.Convert(builder_.Coordinate(axes_), ElementType::kS64);
    Instruction* here = b_.Broadcast(Times(me, length_), {rows_, parts_}, {});
    Instruction* after = b_.Subtract(begins, here);
    Instruction* target = Clamped(after, Splat(length_));
    Instruction* received = b_.Subtract(Clamped(b_.Add(after, totals), Splat(length_)), target);
    std::vector<Instruction*> results;
    for (Instruction* x : buckets) {
      Instruction* zeros = b_.Splat(x->shape().WithDims({rows_, length_}), 0);
      results.push_back(Send(x, zeros, first, sent, target, received));
    }
    return results;
  }

  Region& region_;
  LocalBuilder& builder_;
  HloBuilder b_;
  Computation* const comparator_;
  const AxisList& axes_;
  const int64_t dim_, size_, parts_, length_, rows_, step_;
  Computation* const sum_;
  Instruction *first_ = nullptr, *sent_ = nullptr, *received_ = nullptr;  // of the first exchange
};

}  // namespace

bool CanSampleSort(const Instruction& old, int64_t parts) {
  const int64_t size = old.operand(0)->shape().dim(old.attributes<SortAttributes>().dimension);
  const int64_t length = LocalSize(size, parts);
  return old.operand(0)->shape().ElementCount() > 0 && parts >= 2 && parts <= kMaxParts &&
         length >= kLeastPerPart * parts && length * parts <= std::numeric_limits<int32_t>::max() &&
         IsTotal(*old.called(0));
}

double SampleSortCost(const Instruction& old, const Shape& part, int64_t parts) {
  const int64_t dim = old.attributes<SortAttributes>().dimension, length = part.dim(dim);
  double element = 0;  // bytes of all operands'
  for (const Instruction* operand : old.operands()) {
    element += static_cast<double>(ByteWidth(operand->shape().element_type()));
  }
  constexpr double kPosition = 4, kNumber = 8;
  const bool has_padding = length * parts != old.operand(0)->shape().dim(dim);
  const double exchanged = static_cast<double>(length) * (2 * element + (has_padding ? kPosition : 0));
  const double samples =
      static_cast<double>(SamplesEach(length, parts) * (parts - 1)) * (element + kPosition);
  const double numbers = 2 * kNumber * static_cast<double>(parts - 1);
  return static_cast<double>(part.ElementCount() / length) * (exchanged + samples + numbers) + kSteps;
}

absl::StatusOr<std::vector<Instruction*>> SampleSort(Region& region, const Instruction& old,
                                                     absl::Span<Instruction* const> parts,
                                                     const AxisList& axes) {
  return SampleSorter(region, old, parts[0]->shape(), axes).Sort(parts);
}

}  // namespace shoal
