#include "core/stablehlo/mlir_ir.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace shoal {
namespace {

const MlirAttribute* FindIn(const std::vector<MlirNamedAttribute>& entries, absl::string_view name) {
  for (const MlirNamedAttribute& entry : entries) {
    if (entry.name == name) return entry.value;
  }
  return nullptr;
}

// MLIR escapes a quote, a backslash and every byte that is not printable ASCII as \HH.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7F) {
      absl::StrAppendFormat(&out, "\\%02X", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string TypeList(const std::vector<const MlirType*>& types) {
  return absl::StrJoin(types, ", ",
                       [](std::string* out, const MlirType* type) { absl::StrAppend(out, ToString(*type)); });
}

std::string AttributeList(const std::vector<const MlirAttribute*>& attributes) {
  return absl::StrJoin(attributes, ", ", [](std::string* out, const MlirAttribute* attribute) {
    absl::StrAppend(out, ToString(*attribute));
  });
}

std::string Entries(const std::vector<MlirNamedAttribute>& entries) {
  return absl::StrJoin(entries, ", ", [](std::string* out, const MlirNamedAttribute& entry) {
    absl::StrAppend(out, entry.name, " = ", ToString(*entry.value));
  });
}

std::string TensorText(const MlirType& type) {
  std::string out = "tensor<";
  for (int64_t dim : type.dims) {
    if (dim == kMlirDynamic) {
      absl::StrAppend(&out, "?x");
    } else {
      absl::StrAppend(&out, dim, "x");
    }
  }
  absl::StrAppend(&out, ToString(*type.elements[0]));
  if (type.encoding != nullptr) absl::StrAppend(&out, ", ", ToString(*type.encoding));
  return out + ">";
}

// "!quant.uniform<i8<-127:127>:f32:1, {0.1:-30,0.5:-20}>"
std::string QuantizedText(const MlirQuantization& q) {
  std::string out = absl::StrFormat("!quant.uniform<%c%d<%d:%d>:%s", IsSigned(q.storage) ? 'i' : 'u',
                                    BitWidth(q.storage), static_cast<int64_t>(q.storage_min),
                                    static_cast<int64_t>(q.storage_max), MlirTypeName(q.expressed));
  if (q.axis >= 0) absl::StrAppend(&out, ":", q.axis);
  absl::StrAppend(&out, ", ", q.axis >= 0 ? "{" : "");
  for (size_t i = 0; i < q.scales.size(); ++i) {
    absl::StrAppendFormat(&out, "%s%.17e:%d", i == 0 ? "" : ",", q.scales[i],
                          static_cast<int64_t>(q.zero_points[i]));
  }
  return out + (q.axis >= 0 ? "}>" : ">");
}

std::string IntegerText(const MlirAttribute& attribute) {
  const MlirType& type = *attribute.type;
  std::string suffix = absl::StrCat(" : ", ToString(type));
  if (type.kind == MlirTypeKind::kScalar && IsUnsigned(type.element)) {
    return absl::StrCat(static_cast<uint64_t>(attribute.integer), suffix);
  }
  return absl::StrCat(attribute.integer, suffix);
}

std::string DenseArrayText(const MlirAttribute& attribute) {
  std::string out = absl::StrCat("array<", ToString(*attribute.type));
  const bool is_bool = attribute.type->element == ElementType::kPred;
  for (size_t i = 0; i < attribute.ints.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? ": " : ", ");
    if (is_bool) {
      absl::StrAppend(&out, attribute.ints[i] != 0 ? "true" : "false");
    } else {
      absl::StrAppend(&out, attribute.ints[i]);
    }
  }
  if (!attribute.data.empty()) absl::StrAppend(&out, ": \"0x", absl::BytesToHexString(attribute.data), "\"");
  return out + ">";
}

void Indent(std::string* out, int depth) { out->append(2 * static_cast<size_t>(depth), ' '); }

// Prints operations with the values numbered in the order in which they are met.
class TreePrinter {
 public:
  std::string Print(const MlirOperation& top) {
    Print(top, 0);
    return std::move(out_);
  }

 private:
  std::string NameOf(const MlirValue* value) {
    auto [it, inserted] = numbers_.try_emplace(value, numbers_.size());
    return absl::StrCat("%", it->second);
  }

  std::string Names(const std::vector<MlirValue*>& values) {
    return absl::StrJoin(
        values, ", ", [&](std::string* out, const MlirValue* value) { absl::StrAppend(out, NameOf(value)); });
  }

  void Print(const MlirRegion& region, int depth) {
    absl::StrAppend(&out_, "{\n");
    for (const MlirBlock* block : region.blocks) {
      Indent(&out_, depth);
      absl::StrAppend(&out_, "^(",
                      absl::StrJoin(block->arguments, ", ",
                                    [&](std::string* out, const MlirValue* v) {
                                      absl::StrAppend(out, NameOf(v), ": ", ToString(*v->type));
                                    }),
                      "):\n");
      for (const MlirOperation* operation : block->operations) Print(*operation, depth + 1);
    }
    Indent(&out_, depth);
    absl::StrAppend(&out_, "}");
  }

  void Print(const MlirOperation& operation, int depth) {
    Indent(&out_, depth);
    if (!operation.results.empty()) absl::StrAppend(&out_, Names(operation.results), " = ");
    absl::StrAppend(&out_, "\"", operation.name, "\"(", Names(operation.operands), ")");
    for (size_t i = 0; i < operation.regions.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? " (" : ", ");
      Print(*operation.regions[i], depth);
    }
    if (!operation.regions.empty()) absl::StrAppend(&out_, ")");
    if (!operation.attributes.empty()) absl::StrAppend(&out_, " {", Entries(operation.attributes), "}");
    std::vector<const MlirType*> operands, results;
    for (const MlirValue* value : operation.operands) operands.push_back(value->type);
    for (const MlirValue* value : operation.results) results.push_back(value->type);
    absl::StrAppend(&out_, " : (", TypeList(operands), ") -> (", TypeList(results), ")\n");
  }

  std::string out_;
  absl::flat_hash_map<const MlirValue*, size_t> numbers_;
};

}  // namespace

const MlirAttribute* MlirAttribute::Find(absl::string_view name) const { return FindIn(entries, name); }
const MlirAttribute* MlirOperation::Find(absl::string_view name) const { return FindIn(attributes, name); }

absl::string_view LocationName(const MlirAttribute* location) {
  while (location != nullptr && location->text.empty()) {
    location = location->elements.empty() ? nullptr : location->elements[0];
  }
  return location == nullptr ? absl::string_view() : location->text;
}

const MlirAttribute* FileLocation(const MlirAttribute* location) {
  while (location != nullptr && location->data.empty()) {
    location = location->elements.empty() ? nullptr : location->elements[0];
  }
  return location;
}

uint32_t TreeWeight(const MlirType& type) {
  uint64_t weight = 1;
  for (const MlirType* element : type.elements) weight += element->weight;
  for (const MlirType* result : type.results) weight += result->weight;
  if (type.encoding != nullptr) weight += type.encoding->weight;
  return static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
}

uint32_t TreeWeight(const MlirAttribute& attribute) {
  uint64_t weight = 1;
  if (attribute.type != nullptr) weight += attribute.type->weight;
  for (const MlirAttribute* element : attribute.elements) weight += element->weight;
  for (const MlirNamedAttribute& entry : attribute.entries) weight += entry.value->weight;
  return static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
}

MlirType* MlirModule::NewType(MlirTypeKind kind) {
  MlirType& type = types_.emplace_back();
  type.kind = kind;
  return &type;
}

MlirAttribute* MlirModule::NewAttribute(MlirAttributeKind kind) {
  MlirAttribute& attribute = attributes_.emplace_back();
  attribute.kind = kind;
  return &attribute;
}

MlirValue* MlirModule::NewValue(const MlirType* type, uint32_t index) {
  MlirValue& value = values_.emplace_back();
  value.type = type;
  value.index = index;
  return &value;
}

absl::StatusOr<MlirType*> MlirModule::NewQuantized(MlirQuantization q) {
  const auto error = [](absl::string_view label, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("a quantised type: ", label, ": ", what));
  };
  if (!IsInteger(q.storage) || BitWidth(q.storage) > 32)
    return error("C1", absl::StrCat(MlirTypeName(q.storage), " to store"));
  const double least = IsSigned(q.storage) ? -std::ldexp(1.0, BitWidth(q.storage) - 1) : 0;
  const double most = std::ldexp(1.0, BitWidth(q.storage) - (IsSigned(q.storage) ? 1 : 0)) - 1;
  if (!(least <= q.storage_min && q.storage_min < q.storage_max && q.storage_max <= most))
    return error("C3", absl::StrCat("numbers from ", q.storage_min, " to ", q.storage_max));
  if (!IsFloat(q.expressed))
    return error("C4", absl::StrCat("numbers that stand for ", MlirTypeName(q.expressed)));
  for (double scale : q.scales) {
    if (!(scale > 0) || std::isinf(scale)) return error("C5", absl::StrCat("the scale ", scale));
  }
  for (double zero : q.zero_points) {
    if (!(q.storage_min <= zero && zero <= q.storage_max))
      return error("C7", absl::StrCat("the zero point ", zero));
  }
  if (q.scales.size() != q.zero_points.size() || q.scales.empty())
    return error("C9", absl::StrCat(q.scales.size(), " scales and ", q.zero_points.size(), " zero points"));
  if (q.axis < 0 && q.scales.size() != 1) return error("C10", absl::StrCat(q.scales.size(), " scales"));
  MlirType* type = NewType(MlirTypeKind::kQuantized);
  type->quantization = &quantizations_.emplace_back(std::move(q));
  return type;
}

const MlirType* MlirModule::Scalar(ElementType element) {
  const MlirType*& type = scalars_[element];
  if (type == nullptr) {
    MlirType* fresh = NewType(MlirTypeKind::kScalar);
    fresh->element = element;
    type = fresh;
  }
  return type;
}

std::string ToString(const MlirType& type) {
  switch (type.kind) {
    case MlirTypeKind::kScalar:
      return std::string(MlirTypeName(type.element));
    case MlirTypeKind::kTensor:
      return TensorText(type);
    case MlirTypeKind::kUnranked:
      return absl::StrCat("tensor<*x", ToString(*type.elements[0]), ">");
    case MlirTypeKind::kTuple:
      return absl::StrCat("tuple<", TypeList(type.elements), ">");
    case MlirTypeKind::kFuture:
      return absl::StrCat("!stablehlo.future<", TypeList(type.elements), ">");
    case MlirTypeKind::kFunction:
      return absl::StrCat("(", TypeList(type.elements), ") -> (", TypeList(type.results), ")");
    case MlirTypeKind::kToken:
      return "!stablehlo.token";
    case MlirTypeKind::kNone:
      return "none";
    case MlirTypeKind::kIndex:
      return "index";
    case MlirTypeKind::kQuantized:
      return QuantizedText(*type.quantization);
    case MlirTypeKind::kOther:
      return absl::StrCat("!", type.name);
  }
  return "";
}

std::string ToString(const MlirAttribute& attribute) {
  switch (attribute.kind) {
    case MlirAttributeKind::kUnit:
      return "unit";
    case MlirAttributeKind::kBool:
      return attribute.integer != 0 ? "true" : "false";
    case MlirAttributeKind::kInteger:
      return IntegerText(attribute);
    case MlirAttributeKind::kFloat:
      return absl::StrFormat("%.17e : %s", attribute.number, ToString(*attribute.type));
    case MlirAttributeKind::kString:
      return Quoted(attribute.text);
    case MlirAttributeKind::kSymbol: {
      std::string out = absl::StrCat("@", attribute.text);
      for (const MlirAttribute* nested : attribute.elements) absl::StrAppend(&out, "::", ToString(*nested));
      return out;
    }
    case MlirAttributeKind::kType:
      return ToString(*attribute.type);
    case MlirAttributeKind::kArray:
      return absl::StrCat("[", AttributeList(attribute.elements), "]");
    case MlirAttributeKind::kDictionary:
      return absl::StrCat("{", Entries(attribute.entries), "}");
    case MlirAttributeKind::kDenseElements:
      return absl::StrCat("dense<\"0x", absl::BytesToHexString(attribute.data),
                          "\"> : ", ToString(*attribute.type));
    case MlirAttributeKind::kDenseStrings:
      return absl::StrCat("dense<[", AttributeList(attribute.elements), "]> : ", ToString(*attribute.type));
    case MlirAttributeKind::kResource:
      return absl::StrCat("dense_resource<", attribute.text, "> : ", ToString(*attribute.type));
    case MlirAttributeKind::kDenseArray:
      return DenseArrayText(attribute);
    case MlirAttributeKind::kEnum:
      return std::string(attribute.text);
    case MlirAttributeKind::kRecord:
      return absl::StrCat("#", attribute.text, "<", Entries(attribute.entries), ">");
    case MlirAttributeKind::kLocation:
      return "loc(unknown)";
  }
  return "";
}

std::string ToString(const MlirOperation& operation) { return TreePrinter().Print(operation); }

}  // namespace shoal
