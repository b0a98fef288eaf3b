// Literal: a constant array, its shape and its bytes (row-major, ByteWidth bytes an element). Immutable once
// shared: copies share the bytes. Not a tuple.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/types/shape.h"

namespace shoal {

class Literal {
 public:
  Literal() : Literal(Shape::Array(ElementType::kPred, {0})) {}
  explicit Literal(Shape shape);  // zeros
  // Of sub-byte numbers only the low bits count. InvalidArgument if `bytes` are not shape.ByteSize() many.
  static absl::StatusOr<Literal> FromBytes(Shape shape, std::string bytes);
  // A scalar of a plain C++ type that has `type`'s width: Scalar(kF32, 1.0f).
  template <typename T>
  static Literal Scalar(ElementType type, T value) {
    Literal literal(Shape::Scalar(type));
    std::memcpy(literal.mutable_data(), &value,
                literal.size_bytes() < sizeof(T) ? literal.size_bytes() : sizeof(T));
    return literal;
  }

  const Shape& shape() const { return shape_; }
  const char* data() const { return bytes_->data(); }
  size_t size_bytes() const { return bytes_->size(); }
  // Only before the literal is copied.
  char* mutable_data() { return bytes_->data(); }

  // The element at linear index `i`, read as T.
  template <typename T>
  T Get(int64_t i) const {
    T value;
    std::memcpy(&value, data() + i * ByteWidth(shape_.element_type()), sizeof(T));
    return value;
  }
  // Whether all elements have the same bytes (true for none and for one).
  bool IsSplat() const;
  // Nearest double of the element at `i` (real part of a complex one); exact for integers below 2^53.
  double AsDouble(int64_t i) const;
  // The integer at `i` for integer types and pred; u64 wraps.
  int64_t AsInt(int64_t i) const;

  friend bool operator==(const Literal& a, const Literal& b) {
    return a.shape_ == b.shape_ && *a.bytes_ == *b.bytes_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Literal& literal) {
    return H::combine(std::move(h), literal.shape_, *literal.bytes_);
  }

 private:
  Shape shape_;
  std::shared_ptr<std::string> bytes_;
};

// One number of a narrow or wide float type, from and to its bits. Rounds to nearest even; the f8 types
// saturate or overflow as ml_dtypes does.
double FloatFromBits(ElementType type, uint64_t bits);
uint64_t FloatToBits(ElementType type, double value);

}  // namespace shoal
