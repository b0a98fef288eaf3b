// Shape: the type of a value, as in HLO: an array (element type and dimensions), a tuple of shapes, or a
// token.
//
// Arrays are dense and row-major everywhere inside Shoal (the last dimension is contiguous); another
// layout exists only at the host boundary, where plugin/client transposes. A value: copy, compare, hash it.
//
//   Shape::Array(ElementType::kF32, {2, 3}).ToString()  ==  "f32[2,3]"
//   Shape::Tuple({a, b}).ToString()                     ==  "(f32[2,3], s32[])"
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/types/element_type.h"

namespace shoal {

using DimVector = absl::InlinedVector<int64_t, 6>;

class Shape {
 public:
  Shape() : Shape(Kind::kTuple) {}  // the empty tuple
  static Shape Array(ElementType type, absl::Span<const int64_t> dims);
  static Shape Array(ElementType type, std::initializer_list<int64_t> dims) {
    return Array(type, absl::Span<const int64_t>(dims.begin(), dims.size()));
  }
  static Shape Scalar(ElementType type) { return Array(type, absl::Span<const int64_t>()); }
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token() { return Shape(Kind::kToken); }

  bool IsArray() const { return kind_ == Kind::kArray; }
  bool IsTuple() const { return kind_ == Kind::kTuple; }
  bool IsToken() const { return kind_ == Kind::kToken; }
  bool IsScalar() const { return IsArray() && dims_.empty(); }

  // Arrays. A token answers with kToken and no dimensions.
  ElementType element_type() const { return element_type_; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t ElementCount() const;  // 1 for a scalar, 0 if a dimension is 0
  int64_t ByteSize() const;      // of an array; of a tuple the sum of its leaves
  Shape WithElementType(ElementType type) const { return Array(type, dims_); }
  Shape WithDims(absl::Span<const int64_t> dims) const { return Array(element_type_, dims); }

  // Tuples.
  absl::Span<const Shape> elements() const { return elements_; }
  const Shape& element(int64_t i) const { return elements_[i]; }

  // The arrays and tokens in depth-first order; an array is its own only leaf.
  std::vector<Shape> Leaves() const;

  // "f32[2,3]"; with layout "f32[2,3]{1,0}" as XLA's HLO text has it.
  std::string ToString(bool with_layout = false) const;
  // The inverse of ToString; a layout is accepted if it is the row-major one.
  static absl::StatusOr<Shape> Parse(absl::string_view text);

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.kind_ == b.kind_ && a.element_type_ == b.element_type_ && a.dims_ == b.dims_ &&
           a.elements_ == b.elements_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Shape& s) {
    return H::combine(std::move(h), s.kind_, s.element_type_, s.dims_, s.elements_);
  }

 private:
  enum class Kind : uint8_t { kArray, kTuple, kToken };
  explicit Shape(Kind kind) : kind_(kind) {}

  Kind kind_;
  ElementType element_type_ = ElementType::kToken;
  DimVector dims_;
  std::vector<Shape> elements_;
};

// The product of `dims`; 1 if there are none.
int64_t Product(absl::Span<const int64_t> dims);
// The product of `dims`, or InvalidArgument if an entry is negative or the product, times `scale`, passes
// 2^62.
absl::StatusOr<int64_t> CheckedProduct(absl::Span<const int64_t> dims, int64_t scale = 1);
// Elements from one index to the next in each dimension: {2,3,4} -> {12,4,1}.
DimVector RowMajorStrides(absl::Span<const int64_t> dims);

std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace shoal
