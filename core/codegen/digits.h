// Where in an array an element lies, in generated code. Internal to core/codegen: includes LLVM.
//
// An Index is one number for every lane: mostly base + lane * step with a constant step, so that neighbouring
// lanes load from neighbouring memory; a vector of numbers where it has to be.
//
// Digits are the row-major position in an array written in a mixed radix: digit k counts steps of `stride`
// elements and runs from 0 to extent-1. They need not be the array's dimensions. A loop over a whole
// f32[64,32] has one digit {i, stride 1, extent 2048}; reshape hands its digits on as they are, whatever the
// shapes; an operation that needs dimension d asks for the digits between d's stride and the next (Range),
// which costs a division only if a digit crosses that border.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/codegen/lanes.h"
#include "core/types/shape.h"

namespace shoal {

struct Index {
  llvm::Value* base = nullptr;   // i64; a multiple of `align`
  int64_t step = 0;              // lane l is base + l * step, unless
  llvm::Value* lanes = nullptr;  // <width x i64> says it lane by lane
  int64_t align = 1;

  bool IsUniform() const { return lanes == nullptr && step == 0; }
  bool IsAffine() const { return lanes == nullptr; }
};

struct Digit {
  Index index;  // in [0, extent)
  int64_t stride = 1;
  int64_t extent = 1;
};

// Outermost first; the extents multiply to the number of elements. An empty list is a scalar's only position.
using Digits = std::vector<Digit>;
// Puts digits that were collected in any order outermost first.
void SortByStride(Digits& digits);

// Arithmetic on indices.
class IndexBuilder {
 public:
  explicit IndexBuilder(LaneBuilder& lanes) : lanes_(lanes) {}

  Index Constant(int64_t value);
  Index Uniform(llvm::Value* value, int64_t align = 1);  // an i64
  Index FromLanes(llvm::Value* value);                   // an i64, uniform or a vector
  Index Add(Index x, Index y);
  Index Add(Index x, int64_t y) { return Add(x, Constant(y)); }
  Index Mul(Index x, int64_t y);
  // REQUIRES: x >= 0, y > 0.
  Index Div(Index x, int64_t y);
  Index Rem(Index x, int64_t y);
  // The value in each lane (i64): a scalar if it is uniform.
  llvm::Value* Value(Index x);

  // The sum of digit * stride: the offset in elements.
  Index Linear(const Digits& digits);
  // The digits with strides in [low, high), strides divided by `low`; low divides high.
  Digits Range(const Digits& digits, int64_t low, int64_t high);
  // The index along one dimension: Linear(Range(...)).
  Index Dimension(const Digits& digits, const Shape& shape, int64_t dimension);
  std::vector<Index> Dimensions(const Digits& digits, const Shape& shape);
  // The digits of `inner` from those of `outer`: dimension d of `inner` goes with dimension outer_dim[d] of
  // `outer`, of the same extent; -1 leaves it out. Neighbours that stay neighbours are moved together,
  // without a division.
  Digits Move(const Digits& digits, const Shape& outer, const Shape& inner,
              absl::Span<const int64_t> outer_dim);
  // One digit a dimension of `shape`, of the given indices.
  Digits FromDimensions(absl::Span<const Index> indices, const Shape& shape);

 private:
  llvm::Value* Vector(Index x);
  LaneBuilder& lanes_;
};

}  // namespace shoal
