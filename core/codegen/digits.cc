#include "core/codegen/digits.h"

#include <algorithm>
#include <numeric>

namespace shoal {

void SortByStride(Digits& digits) {
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
}

Index IndexBuilder::Constant(int64_t value) {
  // 0 is a multiple of everything.
  return {lanes_.I64(value), 0, nullptr, value == 0 ? int64_t{1} << 40 : std::abs(value)};
}

Index IndexBuilder::Uniform(llvm::Value* value, int64_t align) { return {value, 0, nullptr, align}; }

Index IndexBuilder::FromLanes(llvm::Value* value) {
  if (!LaneBuilder::IsVector(value)) return Uniform(value);
  return {nullptr, 0, value, 1};
}

llvm::Value* IndexBuilder::Vector(Index x) {
  if (x.lanes != nullptr) return x.lanes;
  llvm::Value* base = lanes_.Splat(x.base);
  if (x.step == 0 || lanes_.width() == 1) return base;
  llvm::Value* steps = lanes_.b.CreateMul(lanes_.LaneNumbers(lanes_.i64()), lanes_.Splat(lanes_.I64(x.step)));
  return lanes_.b.CreateAdd(base, steps);
}

llvm::Value* IndexBuilder::Value(Index x) { return x.IsUniform() ? x.base : Vector(x); }

Index IndexBuilder::Add(Index x, Index y) {
  if (x.IsAffine() && y.IsAffine()) {
    return {lanes_.b.CreateAdd(x.base, y.base), x.step + y.step, nullptr, std::gcd(x.align, y.align)};
  }
  return {nullptr, 0, lanes_.b.CreateAdd(Vector(x), Vector(y)), 1};
}

Index IndexBuilder::Mul(Index x, int64_t y) {
  if (y == 1) return x;
  if (y == 0) return Constant(0);
  if (x.IsAffine()) {
    int64_t align = x.align >= (int64_t{1} << 40) ? x.align : x.align * std::abs(y);
    return {lanes_.b.CreateMul(x.base, lanes_.I64(y)), x.step * y, nullptr, align};
  }
  return {nullptr, 0, lanes_.b.CreateMul(x.lanes, lanes_.Splat(lanes_.I64(y))), 1};
}

Index IndexBuilder::Div(Index x, int64_t y) {
  if (y == 1) return x;
  int64_t width = lanes_.width();
  // All lanes have the same quotient if they start at a multiple of g and end before the next.
  int64_t g = std::gcd(x.align, y);
  if (x.IsAffine() && (x.step == 0 || (x.step > 0 && (width - 1) * x.step < g))) {
    return {lanes_.b.CreateUDiv(x.base, lanes_.I64(y)), 0, nullptr, x.align % y == 0 ? x.align / y : 1};
  }
  return {nullptr, 0, lanes_.b.CreateUDiv(Vector(x), lanes_.Splat(lanes_.I64(y))), 1};
}

Index IndexBuilder::Rem(Index x, int64_t y) {
  if (y == 1) return Constant(0);
  int64_t width = lanes_.width();
  int64_t g = std::gcd(x.align, y);
  if (x.IsAffine() && (x.step == 0 || (x.step > 0 && (width - 1) * x.step < g))) {
    return {lanes_.b.CreateURem(x.base, lanes_.I64(y)), x.step, nullptr, g};
  }
  return {nullptr, 0, lanes_.b.CreateURem(Vector(x), lanes_.Splat(lanes_.I64(y))), 1};
}

Index IndexBuilder::Linear(const Digits& digits) {
  Index sum = Constant(0);
  for (const Digit& digit : digits) sum = Add(sum, Mul(digit.index, digit.stride));
  return sum;
}

Digits IndexBuilder::Range(const Digits& digits, int64_t low, int64_t high) {
  Digits result;
  for (const Digit& digit : digits) {
    int64_t from = std::max(digit.stride, low);
    int64_t to = std::min(digit.stride * digit.extent, high);
    // A digit above, of a stride that is no multiple of `high`, carries into the range: 12*i + j modulo 8.
    bool carries = digit.stride >= high && digit.stride % high != 0 && digit.extent > 1;
    if (from >= to && !carries) continue;
    if (carries || from % digit.stride != 0 || to % from != 0 || from % low != 0) {
      // Borders that do not divide one another: by way of the offset.
      Index index = Rem(Div(Linear(digits), low), high / low);
      return {{index, 1, high / low}};
    }
    Index index = Div(digit.index, from / digit.stride);
    if (to < digit.stride * digit.extent) index = Rem(index, to / from);
    result.push_back({index, from / low, to / from});
  }
  return result;
}

Index IndexBuilder::Dimension(const Digits& digits, const Shape& shape, int64_t dimension) {
  int64_t stride = RowMajorStrides(shape.dims())[dimension];
  return Linear(Range(digits, stride, stride * shape.dim(dimension)));
}

std::vector<Index> IndexBuilder::Dimensions(const Digits& digits, const Shape& shape) {
  std::vector<Index> indices;
  for (int64_t d = 0; d < shape.rank(); ++d) indices.push_back(Dimension(digits, shape, d));
  return indices;
}

Digits IndexBuilder::Move(const Digits& digits, const Shape& outer, const Shape& inner,
                          absl::Span<const int64_t> outer_dim) {
  DimVector outer_strides = RowMajorStrides(outer.dims()), inner_strides = RowMajorStrides(inner.dims());
  Digits result;
  for (int64_t d = 0; d < inner.rank(); ++d) {
    if (outer_dim[d] < 0 || inner.dim(d) == 1) continue;
    int64_t first = d;
    while (d + 1 < inner.rank() && outer_dim[d + 1] == outer_dim[d] + 1) ++d;
    int64_t low = outer_strides[outer_dim[d]];
    int64_t high = outer_strides[outer_dim[first]] * outer.dim(outer_dim[first]);
    for (Digit digit : Range(digits, low, high)) {
      digit.stride *= inner_strides[d];
      result.push_back(digit);
    }
  }
  return result;
}

Digits IndexBuilder::FromDimensions(absl::Span<const Index> indices, const Shape& shape) {
  DimVector strides = RowMajorStrides(shape.dims());
  Digits digits;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) != 1) digits.push_back({indices[d], strides[d], shape.dim(d)});
  }
  return digits;
}

}  // namespace shoal
