// Elements of dot: a loop over the contracted dimensions, lanes over neighbouring results. Right for every
// type; big products are made of register tiles instead (dot_kernel.cc).
#include <algorithm>
#include <cmath>

#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/multiply_add.h"
#include "core/jit/cpu.h"
#include "llvm/IR/Intrinsics.h"

namespace shoal {
namespace {

bool Contains(absl::Span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// For each dimension of an operand the dimension of the result, or -1 for the contracted ones. Free
// dimensions of this side begin at result dimension `first_free`.
std::vector<int64_t> ResultDims(const Shape& operand, absl::Span<const int64_t> batch,
                                absl::Span<const int64_t> contracting, int64_t first_free) {
  std::vector<int64_t> dims(operand.rank(), -1);
  for (size_t k = 0; k < batch.size(); ++k) dims[batch[k]] = static_cast<int64_t>(k);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!Contains(batch, d) && !Contains(contracting, d)) dims[d] = first_free++;
  }
  return dims;
}

// Of `count` products of a dot, how many are added one after the other.
int64_t SumRun(ElementType type, int64_t count) {
  constexpr int64_t kLeast = 1024;  // shorter sums are not cut
  if ((!IsFloat(type) && !IsComplex(type)) || count < 2 * kLeast) return count;
  return std::max(kLeast, static_cast<int64_t>(std::sqrt(static_cast<double>(count))));
}

}  // namespace

Element MultiplyAdd(LaneBuilder& lanes, ElementType type, Element x, Element y, Element sum) {
  lanes.Unify(x, y);
  auto& b = lanes.b;
  if (IsComplex(type)) {
    llvm::Value* re = b.CreateFSub(b.CreateFMul(x.re, y.re), b.CreateFMul(x.im, y.im));
    llvm::Value* im = b.CreateFAdd(b.CreateFMul(x.re, y.im), b.CreateFMul(x.im, y.re));
    return {lanes.FAdd(sum.re, re), lanes.FAdd(sum.im, im)};
  }
  if (IsFloat(type)) {
    lanes.Unify(x.re, sum.re);
    lanes.Unify(y.re, sum.re);
    if (ThisCpu().has_fma)
      return {b.CreateIntrinsic(llvm::Intrinsic::fma, {x.re->getType()}, {x.re, y.re, sum.re})};
    return {b.CreateFAdd(b.CreateFMul(x.re, y.re), sum.re)};
  }
  if (type == ElementType::kPred)
    return {lanes.Binary(llvm::Instruction::Or, b.CreateAnd(x.re, y.re), sum.re)};
  return {lanes.WrapNarrow(type, lanes.Binary(llvm::Instruction::Add, b.CreateMul(x.re, y.re), sum.re))};
}

Element ToAccumulator(LaneBuilder& lanes, ElementType from, ElementType to, Element x) {
  if (from == to || (IsFloat(from) && IsFloat(to) && to != ElementType::kF64)) return x;
  llvm::Type* target = lanes.LikeLanes(x.re, lanes.RegisterType(to));
  if (IsFloat(from)) return {lanes.b.CreateFPCast(x.re, target)};
  return {IsFloat(to)
              ? (IsSigned(from) ? lanes.b.CreateSIToFP(x.re, target) : lanes.b.CreateUIToFP(x.re, target))
              : lanes.b.CreateIntCast(x.re, target, IsSigned(from))};
}

absl::StatusOr<Carried> EmitSumOfRuns(
    LaneBuilder& lanes, llvm::Value* extent, int64_t run, Carried sums,
    absl::FunctionRef<absl::StatusOr<Carried>(llvm::Value* begin, llvm::Value* end)> part) {
  const auto add_run = [&](llvm::Value* begin, const Carried& current) -> absl::StatusOr<Carried> {
    llvm::Value* end = lanes.b.CreateAdd(begin, lanes.I64(run));
    end = lanes.Intrinsic(llvm::Intrinsic::smin, end, extent);
    SHOAL_ASSIGN_OR_RETURN(Carried sum, part(begin, end));
    for (size_t k = 0; k < sum.size(); ++k) sum[k] = lanes.FAdd(current[k], sum[k]);
    return sum;
  };
  return EmitLoopCarrying(lanes, lanes.I64(0), extent, run, std::move(sums), add_run);
}

absl::StatusOr<Element> EmitDot(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const auto& dot = op.attributes<DotAttributes>();
  const Instruction &lhs = *op.operand(0), &rhs = *op.operand(1);
  LaneBuilder& lanes = e.lanes();
  int64_t batches = static_cast<int64_t>(dot.lhs_batch_dims.size());
  int64_t lhs_free = lhs.shape().rank() - batches - static_cast<int64_t>(dot.lhs_contracting_dims.size());
  auto lhs_dims = ResultDims(lhs.shape(), dot.lhs_batch_dims, dot.lhs_contracting_dims, batches);
  auto rhs_dims = ResultDims(rhs.shape(), dot.rhs_batch_dims, dot.rhs_contracting_dims, batches + lhs_free);
  Digits lhs_at = e.index().Move(at, op.shape(), lhs.shape(), lhs_dims);
  Digits rhs_at = e.index().Move(at, op.shape(), rhs.shape(), rhs_dims);
  DimVector lhs_strides = RowMajorStrides(lhs.shape().dims()),
            rhs_strides = RowMajorStrides(rhs.shape().dims());
  ElementType type = op.shape().element_type();
  llvm::Value* zero = llvm::Constant::getNullValue(lanes.RegisterType(type));
  Element sum = lanes.Splat(Element{zero, IsComplex(type) ? zero : nullptr});
  int64_t contracted = 1;
  for (int64_t d : dot.lhs_contracting_dims) contracted *= lhs.shape().dim(d);
  ElementEmitter::Scope scope(e);
  auto body = [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
    Digits l = lhs_at, r = rhs_at;
    Index rest = e.index().Uniform(i);
    for (size_t k = dot.lhs_contracting_dims.size(); k-- > 0;) {
      int64_t ld = dot.lhs_contracting_dims[k], rd = dot.rhs_contracting_dims[k];
      int64_t extent = lhs.shape().dim(ld);
      Index digit = k == 0 ? rest : e.index().Rem(rest, extent);
      rest = e.index().Div(rest, extent);
      l.push_back({digit, lhs_strides[ld], extent});
      r.push_back({digit, rhs_strides[rd], extent});
    }
    SortByStride(l);
    SortByStride(r);
    SHOAL_ASSIGN_OR_RETURN(Element x, e.Emit(lhs, l));
    SHOAL_ASSIGN_OR_RETURN(Element y, e.Emit(rhs, r));
    x = ToAccumulator(lanes, lhs.shape().element_type(), type, x);
    y = ToAccumulator(lanes, rhs.shape().element_type(), type, y);
    Element next = MultiplyAdd(lanes, type, x, y, Unflatten(current, {sum})[0]);
    return Flatten({lanes.Splat(next)});
  };
  const auto part = [&](llvm::Value* begin, llvm::Value* end) {
    return EmitLoopCarrying(lanes, begin, end, 1, Flatten({sum}), body);
  };
  const int64_t run = SumRun(type, contracted);
  SHOAL_ASSIGN_OR_RETURN(Carried result, run < contracted ? EmitSumOfRuns(lanes, lanes.I64(contracted), run,
                                                                          Flatten({sum}), part)
                                                          : part(lanes.I64(0), lanes.I64(contracted)));
  return lanes.RoundTo(type, Unflatten(result, {sum})[0]);
}

}  // namespace shoal
