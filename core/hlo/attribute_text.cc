#include "core/hlo/attribute_text.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/field_text.h"

namespace shoal {
namespace {

using field_text::ApiVersion;
using field_text::DimLabels;
using field_text::OneDimension;
using field_text::OperandPrecision;
using field_text::OutputAliases;
using field_text::PadRanges;
using field_text::Read;
using field_text::SliceRanges;
using field_text::Text;
using field_text::TotalOrder;

// The description of each kind. v.Required(name, field): always written, must be there on reading.
// v.Flag(name, field): always written, false if missing. v(name, field): left out when it has its default.

template <typename T, typename V>
void Describe(Opcode, T& a, V& v) {
  a.ForEachField(v);
}
template <typename V>
void Describe(Opcode opcode, DimensionsAttributes& a, V& v) {
  if (opcode == Opcode::kIota) {
    OneDimension one{a.dimensions};
    v.Required("iota_dimension", one);
  } else {
    v.Required("dimensions", a.dimensions);
  }
}
template <typename V>
void Describe(Opcode, ParameterAttributes&, V&) {}
template <typename V>
void Describe(Opcode, ConstantAttributes&, V&) {}
template <typename V>
void Describe(Opcode, TupleIndexAttributes& a, V& v) {
  v.Required("index", a.index);
}
template <typename V>
void Describe(Opcode, CompareAttributes& a, V& v) {
  TotalOrder total_order{a.total_order};
  v.Required("direction", a.direction);
  v("type", total_order);
}
template <typename V>
void Describe(Opcode, ReducePrecisionAttributes& a, V& v) {
  v.Required("exponent_bits", a.exponent_bits);
  v.Required("mantissa_bits", a.mantissa_bits);
}
template <typename V>
void Describe(Opcode opcode, RngAttributes& a, V& v) {
  if (opcode == Opcode::kRng) v.Required("distribution", a.distribution);
  if (opcode == Opcode::kRngBitGenerator) v.Required("algorithm", a.algorithm);
}
template <typename V>
void Describe(Opcode, DotAttributes& a, V& v) {
  OperandPrecision precision{a.precision};
  v("lhs_batch_dims", a.lhs_batch_dims);
  v("lhs_contracting_dims", a.lhs_contracting_dims);
  v("rhs_batch_dims", a.rhs_batch_dims);
  v("rhs_contracting_dims", a.rhs_contracting_dims);
  v("operand_precision", precision);
}
template <typename V>
void Describe(Opcode, ConvolutionAttributes& a, V& v) {
  DimLabels labels{a};
  OperandPrecision precision{a.precision};
  v("window", a.window);
  v.Required("dim_labels", labels);
  v("feature_group_count", a.feature_group_count, int64_t{1});
  v("batch_group_count", a.batch_group_count, int64_t{1});
  v("operand_precision", precision);
}
template <typename V>
void Describe(Opcode, SliceAttributes& a, V& v) {
  SliceRanges ranges{a.starts, a.limits, a.strides};
  v.Required("slice", ranges);
}
template <typename V>
void Describe(Opcode, DynamicSliceAttributes& a, V& v) {
  v.Required("dynamic_slice_sizes", a.dynamic_slice_sizes);
}
template <typename V>
void Describe(Opcode, PadAttributes& a, V& v) {
  PadRanges ranges{a.low, a.high, a.interior};
  v("padding", ranges);
}
template <typename V>
void Describe(Opcode, GatherAttributes& a, V& v) {
  v.Required("offset_dims", a.offset_dims);
  v.Required("collapsed_slice_dims", a.collapsed_slice_dims);
  v.Required("start_index_map", a.start_index_map);
  v("operand_batching_dims", a.operand_batching_dims);
  v("start_indices_batching_dims", a.start_indices_batching_dims);
  v.Required("index_vector_dim", a.index_vector_dim);
  v.Required("slice_sizes", a.slice_sizes);
  v("indices_are_sorted", a.indices_are_sorted);
}
template <typename V>
void Describe(Opcode, ScatterAttributes& a, V& v) {
  v.Required("update_window_dims", a.update_window_dims);
  v.Required("inserted_window_dims", a.inserted_window_dims);
  v.Required("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims);
  v("input_batching_dims", a.input_batching_dims);
  v("scatter_indices_batching_dims", a.scatter_indices_batching_dims);
  v.Required("index_vector_dim", a.index_vector_dim);
  v("indices_are_sorted", a.indices_are_sorted);
  v("unique_indices", a.unique_indices);
}
template <typename V>
void Describe(Opcode, SortAttributes& a, V& v) {
  IntVector dimensions = {a.dimension};
  OneDimension braces{dimensions};
  v.RequiredInBraces("dimensions", braces);
  // Not when writing: others may be reading the attributes.
  if (!dimensions.empty() && dimensions[0] != a.dimension) a.dimension = dimensions[0];
  v("is_stable", a.is_stable);
}
template <typename V>
void Describe(Opcode, TopKAttributes& a, V& v) {
  v.Required("k", a.k);
  v.Flag("largest", a.largest);
}
template <typename V>
void Describe(Opcode, FusionAttributes& a, V& v) {
  v.Required("kind", a.kind);
}
template <typename V>
void Describe(Opcode opcode, CollectiveAttributes& a, V& v) {
  v("channel_id", a.channel_id);
  v("replica_groups", a.replica_groups);
  v("source_target_pairs", a.source_target_pairs);
  v("use_global_device_ids", a.use_global_device_ids);
  // An all-to-all that splits and joins the same dimension has one in the text.
  IntVector dimensions = a.dimensions;
  if (opcode == Opcode::kAllToAll && dimensions.size() == 2 && dimensions[0] == dimensions[1])
    dimensions.pop_back();
  v("dimensions", dimensions);
  if (opcode == Opcode::kAllToAll && dimensions.size() == 1) dimensions.push_back(dimensions[0]);
  if (dimensions != a.dimensions) a.dimensions = dimensions;
}
template <typename V>
void Describe(Opcode, FftAttributes& a, V& v) {
  v.Required("fft_type", a.type);
  v.Required("fft_length", a.length);
}
template <typename V>
void Describe(Opcode, CholeskyAttributes& a, V& v) {
  v.Flag("lower", a.lower);
}
template <typename V>
void Describe(Opcode, TriangularSolveAttributes& a, V& v) {
  v.Flag("left_side", a.left_side);
  v.Flag("lower", a.lower);
  v.Flag("unit_diagonal", a.unit_diagonal);
  v.Required("transpose_a", a.transpose_a);
}
template <typename V>
void Describe(Opcode opcode, CustomCallAttributes& a, V& v) {
  if (opcode != Opcode::kCustomCall) {
    v(opcode == Opcode::kInfeed ? "infeed_config" : "outfeed_config", a.backend_config);
    return;
  }
  OutputAliases aliases{a.output_operand_aliases};
  ApiVersion version{a.api_version};
  v.Required("custom_call_target", a.target);
  v("custom_call_has_side_effect", a.has_side_effect);
  v("api_version", version);
  v("output_to_operand_aliasing", aliases);
  v("operand_layouts", a.operand_layouts);
  v("result_layouts", a.result_layouts);
  v("operand_layouts", a.operand_layouts);
  v("result_layouts", a.result_layouts);
  v("backend_config", a.backend_config);
}

// Collects ", name=value".
class Writer {
 public:
  template <typename T>
  void Required(absl::string_view name, T& field) {
    absl::StrAppend(&text_, ", ", name, "=", Text(std::as_const(field)));
  }
  void RequiredInBraces(absl::string_view name, OneDimension& one) {
    absl::StrAppend(&text_, ", ", name, "={", Text(one), "}");
  }
  void Flag(absl::string_view name, bool& field) { Required(name, field); }
  template <typename T>
    requires std::is_default_constructible_v<T>
  void operator()(absl::string_view name, T& field, const T& default_value = T{}) {
    if (!(field == default_value)) Required(name, field);
  }
  template <typename View>
    requires(!std::is_default_constructible_v<View>)
  void operator()(absl::string_view name, View& view) {
    if (!Text(std::as_const(view)).empty()) Required(name, view);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

// Takes the fields out of the items; keeps the first failure.
class Reader {
 public:
  Reader(std::vector<AttributeText>& items, ShardingReader& shardings, const TextCursor& place)
      : items_(items), shardings_(shardings), place_(place) {}

  template <typename T>
  void Required(absl::string_view name, T& field) {
    if (!Take(name, field) && status_.ok())
      status_ = place_.Bad(absl::StrCat("attribute \"", name, "\" is missing"));
  }
  void RequiredInBraces(absl::string_view name, OneDimension& one) {
    one.dimensions.clear();
    Required(name, one.dimensions);
    if (status_.ok() && one.dimensions.size() != 1) status_ = place_.Bad("one dimension is wanted");
  }
  void Flag(absl::string_view name, bool& field) {
    field = false;
    Take(name, field);
  }
  template <typename T>
  void operator()(absl::string_view name, T& field) {
    Take(name, field);
  }
  void operator()(absl::string_view name, int64_t& field, int64_t) { Take(name, field); }
  absl::Status status() const { return status_; }

 private:
  template <typename T>
  bool Take(absl::string_view name, T& field) {
    auto it = std::find_if(items_.begin(), items_.end(), [&](const auto& item) { return item.name == name; });
    if (it == items_.end()) return false;
    TextCursor value = it->value;
    if (status_.ok()) status_ = ReadValue(value, field);
    if (status_.ok() && !value.AtEnd()) status_ = value.Bad(absl::StrCat("unexpected end of \"", name, "\""));
    items_.erase(it);
    return true;
  }
  template <typename T>
  absl::Status ReadValue(TextCursor& value, T& field) {
    if constexpr (std::is_same_v<T, std::vector<Sharding>>) {
      SHOAL_ASSIGN_OR_RETURN(field, shardings_.ReadList(value));
      return absl::OkStatus();
    } else {
      return Read(value, field);
    }
  }

  std::vector<AttributeText>& items_;
  ShardingReader& shardings_;
  const TextCursor& place_;
  absl::Status status_;
};

template <typename V>
void DescribeAny(Opcode opcode, Attributes& attributes, V& v) {
  std::visit(
      [&](auto& a) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(a)>, std::monostate>) Describe(opcode, a, v);
      },
      attributes);
}

}  // namespace

Attributes DefaultAttributes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kReduce:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
    case Opcode::kIota:
      return DimensionsAttributes{};
    case Opcode::kParameter:
      return ParameterAttributes{};
    case Opcode::kConstant:
      return ConstantAttributes{};
    case Opcode::kGetTupleElement:
      return TupleIndexAttributes{};
    case Opcode::kCompare:
      return CompareAttributes{};
    case Opcode::kReducePrecision:
      return ReducePrecisionAttributes{};
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      return RngAttributes{};
    case Opcode::kDot:
      return DotAttributes{};
    case Opcode::kConvolution:
      return ConvolutionAttributes{};
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return WindowAttributes{};
    case Opcode::kSlice:
      return SliceAttributes{};
    case Opcode::kDynamicSlice:
      return DynamicSliceAttributes{};
    case Opcode::kPad:
      return PadAttributes{};
    case Opcode::kGather:
      return GatherAttributes{};
    case Opcode::kScatter:
      return ScatterAttributes{};
    case Opcode::kSort:
      return SortAttributes{};
    case Opcode::kTopK:
      return TopKAttributes{};
    case Opcode::kFusion:
      return FusionAttributes{};
    case Opcode::kManualComputation:
      return ManualAttributes{};
    case Opcode::kFft:
      return FftAttributes{};
    case Opcode::kCholesky:
      return CholeskyAttributes{};
    case Opcode::kTriangularSolve:
      return TriangularSolveAttributes{};
    case Opcode::kCustomCall:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return CustomCallAttributes{};
    default:
      return IsCrossDevice(opcode) ? Attributes(CollectiveAttributes{}) : Attributes();
  }
}

size_t AttributeKind(Opcode opcode) {
  static const auto* kinds = [] {
    auto* table = new std::vector<size_t>();
    for (Opcode each : AllOpcodes()) table->push_back(DefaultAttributes(each).index());
    return table;
  }();
  return (*kinds)[static_cast<size_t>(opcode)];
}

std::string AttributesToText(Opcode opcode, const Attributes& attributes) {
  Writer writer;
  // The descriptions take fields by reference for the reader's sake; the writer changes none.
  DescribeAny(opcode, const_cast<Attributes&>(attributes), writer);
  return std::move(writer).text();
}

absl::StatusOr<Attributes> AttributesFromText(Opcode opcode, std::vector<AttributeText>& items,
                                              ShardingReader& shardings, const TextCursor& place) {
  Attributes attributes = DefaultAttributes(opcode);
  Reader reader(items, shardings, place);
  DescribeAny(opcode, attributes, reader);
  SHOAL_RETURN_IF_ERROR(reader.status());
  return attributes;
}

}  // namespace shoal
