#include "plugin/ffi/attributes.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/stablehlo/text_reader.h"
#include "core/types/element_type.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

struct Dictionary {
  std::vector<XLA_FFI_AttrType> types;
  std::vector<XLA_FFI_ByteSpan*> names;
  std::vector<void*> values;
  XLA_FFI_Attrs attrs = {};
};

absl::StatusOr<ElementType> ElementOf(const MlirAttribute& attribute, absl::string_view name) {
  const MlirType* type = attribute.type;
  if (type != nullptr && type->kind == MlirTypeKind::kTensor) type = type->elements[0];
  // What MLIR gives a boolean without words, and an index.
  if (type == nullptr)
    return attribute.kind == MlirAttributeKind::kBool ? ElementType::kPred : ElementType::kS64;
  if (type->kind == MlirTypeKind::kIndex) return ElementType::kS64;
  if (type->kind != MlirTypeKind::kScalar) {
    return absl::InvalidArgumentError(absl::StrCat("the attribute '", name, "' has the type ",
                                                   ToString(*type), ", which no FFI handler can be given"));
  }
  return type->element;
}

XLA_FFI_DataType DataTypeOf(ElementType type) { return static_cast<XLA_FFI_DataType>(XlaNumber(type)); }

std::string ScalarBytes(ElementType type, const MlirAttribute& attribute) {
  const uint64_t bits = attribute.kind == MlirAttributeKind::kFloat
                            ? FloatToBits(type, attribute.number)
                            : static_cast<uint64_t>(attribute.integer);
  std::string bytes(ByteWidth(type), '\0');
  std::memcpy(bytes.data(), &bits, bytes.size());
  return bytes;
}

std::string ArrayBytes(ElementType type, const MlirAttribute& attribute, int64_t count) {
  const int width = ByteWidth(type);
  std::string bytes;
  if (attribute.kind == MlirAttributeKind::kDenseElements) {
    if (!attribute.splat) return std::string(attribute.data);
    for (int64_t i = 0; i < count; ++i) bytes.append(attribute.data.data(), width);
    return bytes;
  }
  if (attribute.ints.empty()) return std::string(attribute.data);
  for (const int64_t value : attribute.ints) bytes.append(reinterpret_cast<const char*>(&value), width);
  return bytes;
}

}  // namespace

struct FfiAttributes::Nodes {
  // Deques: what was handed out stays where it is.
  std::deque<std::string> bytes;
  std::deque<XLA_FFI_ByteSpan> spans;
  std::deque<XLA_FFI_Scalar> scalars;
  std::deque<XLA_FFI_Array> arrays;
  std::deque<Dictionary> dictionaries;

  char* Keep(std::string text) { return bytes.emplace_back(std::move(text)).data(); }
  XLA_FFI_ByteSpan* Span(absl::string_view text) {
    return &spans.emplace_back(XLA_FFI_ByteSpan{Keep(std::string(text)), text.size()});
  }

  absl::StatusOr<std::pair<XLA_FFI_AttrType, void*>> Value(const MlirAttribute& attribute,
                                                           absl::string_view name);
  absl::StatusOr<XLA_FFI_Attrs*> Entries(const std::vector<MlirNamedAttribute>& entries);
};

absl::StatusOr<std::pair<XLA_FFI_AttrType, void*>> FfiAttributes::Nodes::Value(const MlirAttribute& attribute,
                                                                               absl::string_view name) {
  using Pair = std::pair<XLA_FFI_AttrType, void*>;
  switch (attribute.kind) {
    case MlirAttributeKind::kBool:
    case MlirAttributeKind::kInteger:
    case MlirAttributeKind::kFloat: {
      SHOAL_ASSIGN_OR_RETURN(const ElementType type, ElementOf(attribute, name));
      scalars.push_back({DataTypeOf(type), Keep(ScalarBytes(type, attribute))});
      return Pair(XLA_FFI_AttrType_SCALAR, &scalars.back());
    }
    case MlirAttributeKind::kDenseArray:
    case MlirAttributeKind::kDenseElements: {
      SHOAL_ASSIGN_OR_RETURN(const ElementType type, ElementOf(attribute, name));
      const int64_t count =
          attribute.kind == MlirAttributeKind::kDenseElements ? Product(attribute.type->dims) : 0;
      std::string data = ArrayBytes(type, attribute, count);
      const size_t size = data.size() / ByteWidth(type);
      arrays.push_back({DataTypeOf(type), size, Keep(std::move(data))});
      return Pair(XLA_FFI_AttrType_ARRAY, &arrays.back());
    }
    case MlirAttributeKind::kString:
      return Pair(XLA_FFI_AttrType_STRING, Span(attribute.text));
    case MlirAttributeKind::kDictionary: {
      SHOAL_ASSIGN_OR_RETURN(XLA_FFI_Attrs* const attrs, Entries(attribute.entries));
      return Pair(XLA_FFI_AttrType_DICTIONARY, attrs);
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("the attribute '", name, "' is ", ToString(attribute),
                       "; FFI handlers take numbers, strings, dense arrays and dictionaries of those"));
  }
}

absl::StatusOr<XLA_FFI_Attrs*> FfiAttributes::Nodes::Entries(const std::vector<MlirNamedAttribute>& entries) {
  // Handlers search by halving.
  std::vector<MlirNamedAttribute> sorted = entries;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  Dictionary dictionary;
  for (const MlirNamedAttribute& entry : sorted) {
    SHOAL_ASSIGN_OR_RETURN(auto value, Value(*entry.value, entry.name));
    dictionary.types.push_back(value.first);
    dictionary.names.push_back(Span(entry.name));
    dictionary.values.push_back(value.second);
  }
  Dictionary& kept = dictionaries.emplace_back(std::move(dictionary));
  kept.attrs = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr,           static_cast<int64_t>(kept.types.size()),
                kept.types.data(),         kept.names.data(), kept.values.data()};
  return &kept.attrs;
}

FfiAttributes::FfiAttributes() : nodes_(std::make_unique<Nodes>()) {}
FfiAttributes::FfiAttributes(FfiAttributes&&) noexcept = default;
FfiAttributes& FfiAttributes::operator=(FfiAttributes&&) noexcept = default;
FfiAttributes::~FfiAttributes() = default;

absl::StatusOr<FfiAttributes> FfiAttributes::Parse(absl::string_view dictionary) {
  FfiAttributes attributes;
  std::vector<MlirNamedAttribute> entries;
  MlirModule module;
  if (!dictionary.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* const parsed, ParseMlirAttributeText(dictionary, &module));
    if (parsed->kind != MlirAttributeKind::kDictionary) {
      return absl::InvalidArgumentError(
          absl::StrCat("the backend configuration of a typed FFI call is no dictionary: ", dictionary));
    }
    entries = parsed->entries;
  }
  // The outermost dictionary is the last that is made.
  SHOAL_RETURN_IF_ERROR(attributes.nodes_->Entries(entries).status());
  return attributes;
}

const XLA_FFI_Attrs& FfiAttributes::attrs() const { return nodes_->dictionaries.back().attrs; }

}  // namespace shoal
