// The pretty form that most operations share: operands and "key = value" items, then attributes and types.
//
//   stablehlo.pad %a, %p, low = [1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) ->
//   tensor<4xf32>
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/text_operations.h"

namespace shoal {
namespace {

enum class Item { kInteger, kIntegers, kWord, kBool };

struct KeyRow {
  absl::string_view op;  // empty: every operation
  absl::string_view key;
  Item item;
  absl::string_view attribute;
};

constexpr KeyRow kKeys[] = {
    {"stablehlo.iota", "dim", Item::kInteger, "iota_dimension"},
    {"stablehlo.dynamic_iota", "dim", Item::kInteger, "iota_dimension"},
    {"", "dim", Item::kInteger, "dimension"},
    {"stablehlo.broadcast_in_dim", "dims", Item::kIntegers, "broadcast_dimensions"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", Item::kIntegers, "broadcast_dimensions"},
    {"stablehlo.transpose", "dims", Item::kIntegers, "permutation"},
    {"", "dims", Item::kIntegers, "dimensions"},
    {"stablehlo.broadcast", "sizes", Item::kIntegers, "broadcast_sizes"},
    {"", "sizes", Item::kIntegers, "slice_sizes"},
    {"", "low", Item::kIntegers, "edge_padding_low"},
    {"", "high", Item::kIntegers, "edge_padding_high"},
    {"", "interior", Item::kIntegers, "interior_padding"},
    {"", "type", Item::kWord, "fft_type"},
    {"", "length", Item::kIntegers, "fft_length"},
    {"", "algorithm", Item::kWord, "rng_algorithm"},
    {"", "distribution", Item::kWord, "rng_distribution"},
    {"", "lower", Item::kBool, "lower"},
    {"chlo.top_k", "k", Item::kInteger, "k"},
    {"chlo.top_k", "largest", Item::kBool, "largest"},
};

constexpr KeyRow kWindowKeys[] = {
    {"", "stride", Item::kIntegers, "window_strides"},   {"", "pad", Item::kIntegers, "padding"},
    {"", "lhs_dilate", Item::kIntegers, "lhs_dilation"}, {"", "rhs_dilate", Item::kIntegers, "rhs_dilation"},
    {"", "reverse", Item::kIntegers, "window_reversal"},
};

}  // namespace

void OperationReader::ReadDotDimensions(MlirOperation* op, absl::string_view lhs, absl::string_view rhs) {
  Put(op, lhs, parser_.IntegersAttribute(parser_.IntegerList()));
  scan_.Expect("x");
  Put(op, rhs, parser_.IntegersAttribute(parser_.IntegerList()));
}

void OperationReader::ReadWindow(MlirOperation* op) {
  scan_.Expect("{");
  for (bool first = true; parser_.ok() && !scan_.Take("}"); first = false) {
    if (!first) scan_.Expect(",");
    const absl::string_view key = scan_.Word();
    scan_.Expect("=");
    absl::string_view attribute;
    for (const KeyRow& row : kWindowKeys) {
      if (row.key == key) attribute = row.attribute;
    }
    if (attribute.empty()) return scan_.Fail(absl::StrCat("'", key, "' is not a property of a window"));
    Put(op, attribute, parser_.IntegersAttribute(key == "pad" ? ReadPairs() : parser_.IntegerList()));
  }
}

// [[0, 1], [2, 3]], flattened.
std::vector<int64_t> OperationReader::ReadPairs() {
  std::vector<int64_t> numbers;
  scan_.Expect("[");
  while (parser_.ok() && !scan_.Take("]")) {
    if (!numbers.empty()) scan_.Expect(",");
    const std::vector<int64_t> pair = parser_.IntegerList();
    if (parser_.ok() && pair.size() != 2)
      scan_.Fail(absl::StrCat("C4: ", pair.size(), " numbers of padding for a dimension instead of 2"));
    numbers.insert(numbers.end(), pair.begin(), pair.end());
  }
  return numbers;
}

void OperationReader::ReadItemValue(MlirOperation* op, absl::string_view key) {
  if (key == "batching_dims")
    return ReadDotDimensions(op, "lhs_batching_dimensions", "rhs_batching_dimensions");
  if (key == "contracting_dims")
    return ReadDotDimensions(op, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
  if (key == "window") return ReadWindow(op);
  if (key == "dim_numbers") {
    std::vector<MlirNamedAttribute> entries = parser_.ConvolutionDimensions();
    op->attributes.insert(op->attributes.end(), entries.begin(), entries.end());
    return;
  }
  if (key == "precision") {
    MlirAttribute* list = parser_.New(MlirAttributeKind::kArray);
    scan_.Expect("[");
    while (parser_.ok() && !scan_.Take("]")) {
      if (!list->elements.empty()) scan_.Expect(",");
      list->elements.push_back(parser_.EnumAttribute(scan_.Word()));
    }
    return Put(op, "precision_config", list);
  }
  if (key == "format") {  // e5m10
    const absl::string_view word = scan_.Word();
    const size_t m = word.find('m');
    int64_t exponent = 0, mantissa = 0;
    if (m == absl::string_view::npos || word[0] != 'e' ||
        !absl::SimpleAtoi(word.substr(1, m - 1), &exponent) ||
        !absl::SimpleAtoi(word.substr(m + 1), &mantissa)) {
      return scan_.Fail(absl::StrCat("'", word, "' is not a format such as e5m10"));
    }
    Put(op, "exponent_bits", parser_.IntegerAttribute(exponent));
    return Put(op, "mantissa_bits", parser_.IntegerAttribute(mantissa));
  }
  if (key == "algorithm" && scan_.Take("<")) return scan_.SkipToClose('>');  // of a dot: no matter here
  for (const KeyRow& row : kKeys) {
    if (row.key != key || (!row.op.empty() && row.op != op->name)) continue;
    switch (row.item) {
      case Item::kInteger:
        return Put(op, row.attribute, parser_.IntegerAttribute(scan_.Integer()));
      case Item::kIntegers:
        return Put(op, row.attribute, parser_.IntegersAttribute(parser_.IntegerList()));
      case Item::kWord:
        return Put(op, row.attribute, parser_.EnumAttribute(scan_.Word()));
      case Item::kBool:
        return Put(op, row.attribute, parser_.Attribute());
    }
  }
  scan_.Fail(absl::StrCat("'", key, "' is not known of ", op->name));
}

// A keyword among the operands: compare's direction and type.
void OperationReader::ReadWord(MlirOperation* op, absl::string_view word) {
  if (op->name != "stablehlo.compare")
    return scan_.Fail(absl::StrCat("'", word, "' is not known of ", op->name));
  Put(op, op->operands.empty() ? "comparison_direction" : "compare_type", parser_.EnumAttribute(word));
}

// [0:5:2, 1:3]
void OperationReader::ReadSliceRanges(MlirOperation* op) {
  std::vector<int64_t> starts, limits, strides;
  while (parser_.ok() && !scan_.Take("]")) {
    if (!starts.empty()) scan_.Expect(",");
    starts.push_back(scan_.Integer());
    scan_.Expect(":");
    limits.push_back(scan_.Integer());
    strides.push_back(scan_.Take(":") ? scan_.Integer() : 1);
  }
  Put(op, "start_indices", parser_.IntegersAttribute(std::move(starts)));
  Put(op, "limit_indices", parser_.IntegersAttribute(std::move(limits)));
  Put(op, "strides", parser_.IntegersAttribute(std::move(strides)));
}

// After the ':': a type that results and operands share; (operands) -> results; operands -> results; a list
// of types, of which select's result has the last and others one each.
void OperationReader::ReadItemTypes(MlirOperation* op) {
  if (!scan_.Take(":")) {
    if (expected_results_ > 0) scan_.Fail("the types are missing");
    return;
  }
  std::vector<const MlirType*> types;
  do {
    const MlirType* type = parser_.Type();
    if (type == nullptr) return;
    types.push_back(type);
  } while (scan_.Take(","));
  if (types.size() == 1 && types[0]->kind == MlirTypeKind::kFunction)
    return ResultTypes(op, types[0]->results);
  if (scan_.Take("->")) {
    types.clear();
    if (scan_.Take("(")) {
      while (parser_.ok() && !scan_.Take(")")) {
        if (!types.empty()) scan_.Expect(",");
        if (const MlirType* type = parser_.Type()) types.push_back(type);
      }
    } else if (const MlirType* type = parser_.Type()) {
      types.push_back(type);
    }
    return ResultTypes(op, types);
  }
  if (types.size() > 1 && op->name == "stablehlo.select") return ResultType(op, types.back());
  ResultTypes(op, types);
}

void OperationReader::ReadItems(MlirOperation* op) {
  const bool parenthesised = scan_.Take("(");
  while (parser_.ok()) {
    if (scan_.Peek() == '%') {
      if (MlirValue* value = Operand()) op->operands.push_back(value);
      if (scan_.Take("[")) {
        if (op->name == "stablehlo.get_tuple_element") {
          Put(op, "index", parser_.IntegerAttribute(scan_.Integer()));
          scan_.Expect("]");
        } else {
          ReadSliceRanges(op);
        }
      }
    } else {
      const absl::string_view word = scan_.Word();
      if (word.empty()) break;
      scan_.Take("=") ? ReadItemValue(op, word) : ReadWord(op, word);
    }
    // "convolution(%a, %b) dim_numbers = ..." goes on behind its operands.
    if (parenthesised && scan_.Take(")")) {
      if (op->name != "stablehlo.convolution") break;
      continue;
    }
    if (!scan_.Take(",")) break;
  }
  OptionalDictionary(op);
  ReadItemTypes(op);
}

}  // namespace shoal
