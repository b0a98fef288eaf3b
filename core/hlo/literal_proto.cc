#include "core/hlo/literal_proto.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr int kTupleType = 13;
constexpr int kMaxNesting = 64;

absl::StatusOr<Shape> ReadShape(const wire::ShapeProto& proto, int nesting) {
  if (nesting > kMaxNesting) return absl::InvalidArgumentError("tuples nest too deeply");
  if (proto.element_type() == kTupleType) {
    std::vector<Shape> elements;
    for (const auto& element : proto.tuple_shapes()) {
      SHOAL_ASSIGN_OR_RETURN(Shape shape, ReadShape(element, nesting + 1));
      elements.push_back(std::move(shape));
    }
    return Shape::Tuple(std::move(elements));
  }
  SHOAL_ASSIGN_OR_RETURN(ElementType type, ElementTypeFromXlaNumber(proto.element_type()));
  const absl::Span<const int64_t> dims(proto.dimensions().data(), proto.dimensions().size());
  SHOAL_RETURN_IF_ERROR(CheckedProduct(dims, ByteWidth(type)).status());
  for (bool dynamic : proto.is_dynamic_dimension()) {
    if (dynamic) return absl::UnimplementedError("dynamic dimensions");
  }
  return Shape::Array(type, dims);
}

// Calls `visit` with the field that holds elements of `type`, as bytes or as numbers of the right width.
template <typename Proto, typename V>
void VisitField(Proto& proto, ElementType type, V&& visit) {
  switch (type) {
#define SHOAL_FIELD(enum_name, field) \
  case ElementType::enum_name:        \
    return visit(proto.field);
    SHOAL_FIELD(kPred, mutable_preds())
    SHOAL_FIELD(kS32, mutable_s32s())
    SHOAL_FIELD(kS64, mutable_s64s())
    SHOAL_FIELD(kU32, mutable_u32s())
    SHOAL_FIELD(kU64, mutable_u64s())
    SHOAL_FIELD(kF32, mutable_f32s())
    SHOAL_FIELD(kF64, mutable_f64s())
    SHOAL_FIELD(kC64, mutable_c64s())
    SHOAL_FIELD(kC128, mutable_c128s())
    SHOAL_FIELD(kS2, mutable_s2s())
    SHOAL_FIELD(kS4, mutable_s4s())
    SHOAL_FIELD(kS8, mutable_s8s())
    SHOAL_FIELD(kS16, mutable_s16s())
    SHOAL_FIELD(kU2, mutable_u2s())
    SHOAL_FIELD(kU4, mutable_u4s())
    SHOAL_FIELD(kU8, mutable_u8s())
    SHOAL_FIELD(kU16, mutable_u16s())
    SHOAL_FIELD(kF4E2M1FN, mutable_f4e2m1fns())
    SHOAL_FIELD(kF8E3M4, mutable_f8e3m4s())
    SHOAL_FIELD(kF8E4M3, mutable_f8e4m3s())
    SHOAL_FIELD(kF8E4M3FN, mutable_f8e4m3fns())
    SHOAL_FIELD(kF8E4M3FNUZ, mutable_f8e4m3fnuzs())
    SHOAL_FIELD(kF8E4M3B11FNUZ, mutable_f8e4m3b11fnuzs())
    SHOAL_FIELD(kF8E5M2, mutable_f8e5m2s())
    SHOAL_FIELD(kF8E5M2FNUZ, mutable_f8e5m2fnuzs())
    SHOAL_FIELD(kF8E8M0FNU, mutable_f8e8m0fnus())
    SHOAL_FIELD(kBF16, mutable_bf16s())
    SHOAL_FIELD(kF16, mutable_f16s())
#undef SHOAL_FIELD
    case ElementType::kToken:
      return;
  }
}

struct FieldWriter {
  const Literal& literal;
  void operator()(std::string* bytes) const { bytes->assign(literal.data(), literal.size_bytes()); }
  template <typename T>
  void operator()(google::protobuf::RepeatedField<T>* field) const {
    field->Resize(static_cast<int>(literal.size_bytes() / sizeof(T)), T{});
    std::memcpy(field->mutable_data(), literal.data(), literal.size_bytes());
  }
};

struct FieldReader {
  std::string& bytes;
  void operator()(const std::string* field) const { bytes = *field; }
  template <typename T>
  void operator()(const google::protobuf::RepeatedField<T>* field) const {
    bytes.assign(reinterpret_cast<const char*>(field->data()), field->size() * sizeof(T));
  }
};

}  // namespace

void ShapeToProto(const Shape& shape, wire::ShapeProto& proto) {
  if (shape.IsTuple()) {
    proto.set_element_type(kTupleType);
    for (const Shape& element : shape.elements()) ShapeToProto(element, *proto.add_tuple_shapes());
    return;
  }
  proto.set_element_type(XlaNumber(shape.element_type()));
  if (shape.IsToken()) return;
  for (int64_t dim : shape.dims()) {
    proto.add_dimensions(dim);
    proto.add_is_dynamic_dimension(false);
  }
  for (int64_t d = shape.rank() - 1; d >= 0; --d) proto.mutable_layout()->add_minor_to_major(d);
  proto.mutable_layout();
}

bool IsRowMajor(const wire::ShapeProto& proto) {
  for (const auto& element : proto.tuple_shapes()) {
    if (!IsRowMajor(element)) return false;
  }
  const auto& order = proto.layout().minor_to_major();
  for (int i = 0; i < order.size(); ++i) {
    if (order.size() != proto.dimensions_size() || order[i] != proto.dimensions_size() - 1 - i) return false;
  }
  return true;
}

absl::StatusOr<Shape> ShapeFromProto(const wire::ShapeProto& proto) { return ReadShape(proto, 0); }

void LiteralToProto(const Literal& literal, wire::LiteralProto& proto) {
  ShapeToProto(literal.shape(), *proto.mutable_shape());
  VisitField(proto, literal.shape().element_type(), FieldWriter{literal});
}

absl::StatusOr<Literal> LiteralFromProto(const wire::LiteralProto& proto) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.shape()));
  if (!shape.IsArray())
    return absl::UnimplementedError(absl::StrCat("a constant of type ", shape.ToString()));
  std::string bytes;
  // The visitor only reads.
  VisitField(const_cast<wire::LiteralProto&>(proto), shape.element_type(), FieldReader{bytes});
  return Literal::FromBytes(std::move(shape), std::move(bytes));
}

}  // namespace shoal
