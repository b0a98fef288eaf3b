#include "core/types/shape.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 62;

// Reads one shape from the front of `text`, consuming it.
class ShapeReader {
 public:
  explicit ShapeReader(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<Shape> ReadAll() {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, Read(0));
    if (!Skip().empty()) return Bad("something after the shape");
    return shape;
  }

 private:
  static constexpr int kMaxNesting = 64;

  absl::Status Bad(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("bad shape \"", text_, "\": ", what));
  }
  absl::string_view Skip() {
    while (!rest_.empty() && absl::ascii_isspace(rest_.front())) rest_.remove_prefix(1);
    return rest_;
  }
  bool Eat(char c) {
    if (Skip().empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  absl::StatusOr<Shape> Read(int nesting) {
    if (nesting > kMaxNesting) return Bad("tuples nest too deeply");
    return Eat('(') ? ReadTuple(nesting) : ReadArray();
  }

  absl::StatusOr<Shape> ReadTuple(int nesting) {
    std::vector<Shape> elements;
    if (Eat(')')) return Shape::Tuple({});
    do {
      SHOAL_ASSIGN_OR_RETURN(Shape element, Read(nesting + 1));
      elements.push_back(std::move(element));
    } while (Eat(','));
    if (!Eat(')')) return Bad("expected ')'");
    return Shape::Tuple(std::move(elements));
  }

  absl::StatusOr<Shape> ReadArray() {
    Skip();
    size_t end = 0;
    while (end < rest_.size() && absl::ascii_isalnum(rest_[end])) ++end;
    SHOAL_ASSIGN_OR_RETURN(ElementType type, ParseElementType(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    SHOAL_ASSIGN_OR_RETURN(DimVector dims, ReadInts('[', ']'));
    if (type == ElementType::kToken) return Shape::Token();
    SHOAL_RETURN_IF_ERROR(CheckedProduct(dims, ByteWidth(type)).status());
    if (!Skip().empty() && rest_.front() == '{') {
      SHOAL_ASSIGN_OR_RETURN(DimVector minor_to_major, ReadInts('{', '}'));
      for (size_t i = 0; i < minor_to_major.size(); ++i) {
        if (minor_to_major.size() != dims.size() ||
            minor_to_major[i] != static_cast<int64_t>(dims.size() - 1 - i)) {
          return Bad("only the row-major layout is known");
        }
      }
    }
    return Shape::Array(type, dims);
  }

  absl::StatusOr<DimVector> ReadInts(char open, char close) {
    if (!Eat(open)) return Bad(absl::StrCat("expected '", absl::string_view(&open, 1), "'"));
    const size_t end = rest_.find(close);
    if (end == absl::string_view::npos)
      return Bad(absl::StrCat("expected '", absl::string_view(&close, 1), "'"));
    absl::string_view inside = absl::StripAsciiWhitespace(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    DimVector ints;
    if (inside.empty()) return ints;
    for (absl::string_view item : absl::StrSplit(inside, ',')) {
      int64_t value;
      if (!absl::SimpleAtoi(item, &value) || value < 0)
        return Bad(absl::StrCat("\"", item, "\" is not a dimension"));
      ints.push_back(value);
    }
    return ints;
  }

  absl::string_view text_;
  absl::string_view rest_;
};

void AppendLeaves(const Shape& shape, std::vector<Shape>& leaves) {
  if (!shape.IsTuple()) {
    leaves.push_back(shape);
    return;
  }
  for (const Shape& element : shape.elements()) AppendLeaves(element, leaves);
}

}  // namespace

Shape Shape::Array(ElementType type, absl::Span<const int64_t> dims) {
  if (type == ElementType::kToken) return Token();
  Shape shape(Kind::kArray);
  shape.element_type_ = type;
  shape.dims_.assign(dims.begin(), dims.end());
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape(Kind::kTuple);
  shape.elements_ = std::move(elements);
  return shape;
}

int64_t Shape::ElementCount() const { return Product(dims_); }

int64_t Shape::ByteSize() const {
  if (IsArray()) return ElementCount() * ByteWidth(element_type_);
  int64_t bytes = 0;
  for (const Shape& element : elements_) bytes += element.ByteSize();
  return bytes;
}

std::vector<Shape> Shape::Leaves() const {
  std::vector<Shape> leaves;
  AppendLeaves(*this, leaves);
  return leaves;
}

std::string Shape::ToString(bool with_layout) const {
  if (IsTuple()) {
    return absl::StrCat("(",
                        absl::StrJoin(elements_, ", ",
                                      [&](std::string* out, const Shape& element) {
                                        absl::StrAppend(out, element.ToString(with_layout));
                                      }),
                        ")");
  }
  std::string text = absl::StrCat(ElementTypeName(element_type_), "[", absl::StrJoin(dims_, ","), "]");
  if (!with_layout || dims_.empty()) return text;
  text += '{';
  for (int64_t i = rank() - 1; i >= 0; --i) absl::StrAppend(&text, i, i > 0 ? "," : "}");
  return text;
}

absl::StatusOr<Shape> Shape::Parse(absl::string_view text) { return ShapeReader(text).ReadAll(); }

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

absl::StatusOr<int64_t> CheckedProduct(absl::Span<const int64_t> dims, int64_t scale) {
  int64_t nonzero = scale, product = scale;
  for (int64_t dim : dims) {
    if (dim < 0) return absl::InvalidArgumentError(absl::StrCat("dimension ", dim, " is negative"));
    if (dim > 0 && nonzero > kMaxElements / dim) {
      return absl::InvalidArgumentError(
          absl::StrCat("[", absl::StrJoin(dims, ","), "] has too many elements"));
    }
    if (dim > 0) nonzero *= dim;
    product = dim == 0 ? 0 : product * dim;
  }
  return product / (scale == 0 ? 1 : scale);
}

DimVector RowMajorStrides(absl::Span<const int64_t> dims) {
  DimVector strides(dims.size(), 1);
  for (int64_t i = static_cast<int64_t>(dims.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.ToString(); }

}  // namespace shoal
