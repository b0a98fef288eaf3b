#include "core/hlo/attribute_text.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// Views on fields which XLA writes in one piece.
struct SliceRanges {  // {[0:4:1], [2:3]}
  IntVector &starts, &limits, &strides;
};
struct PadRanges {  // 0_1x2_3_1
  IntVector &low, &high, &interior;
};
struct OneDimension {  // iota_dimension=0
  IntVector& dimensions;
};
struct DimLabels {  // b01f_01io->b01f
  ConvolutionAttributes& conv;
};
struct OperandPrecision {  // {highest,highest}
  Precision& precision;
};
struct OutputAliases {  // {{0}: (1, {})}
  Pairs& pairs;
};
struct ApiVersion {  // API_VERSION_TYPED_FFI
  int64_t& number;
};
struct TotalOrder {  // type=TOTALORDER
  bool& value;
};

constexpr absl::string_view kApiVersions[] = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

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

std::string Braced(const IntVector& ints) { return absl::StrCat("{", absl::StrJoin(ints, ","), "}"); }

// One property of each window dimension, "3x3"; empty if all have the default.
template <typename F>
void AppendWindowField(const Window& window, absl::string_view name, bool required, F text,
                       std::string& out) {
  const std::string none = text(WindowDimension{});
  const bool is_default =
      std::all_of(window.begin(), window.end(), [&](const auto& d) { return text(d) == none; });
  if (is_default && !required) return;
  absl::StrAppend(&out, out.size() > 1 ? " " : "", name, "=",
                  absl::StrJoin(window, "x", [&](std::string* o, const auto& d) { o->append(text(d)); }));
}

std::string Text(const Window& window) {
  using D = WindowDimension;
  std::string out = "{";
  AppendWindowField(window, "size", true, [](const D& d) { return absl::StrCat(d.size); }, out);
  AppendWindowField(window, "stride", false, [](const D& d) { return absl::StrCat(d.stride); }, out);
  AppendWindowField(
      window, "pad", false, [](const D& d) { return absl::StrCat(d.padding_low, "_", d.padding_high); }, out);
  AppendWindowField(
      window, "lhs_dilate", false, [](const D& d) { return absl::StrCat(d.base_dilation); }, out);
  AppendWindowField(
      window, "rhs_dilate", false, [](const D& d) { return absl::StrCat(d.window_dilation); }, out);
  AppendWindowField(
      window, "rhs_reversal", false, [](const D& d) { return absl::StrCat(d.reversal ? 1 : 0); }, out);
  return out + "}";
}

std::string Text(int64_t value) { return absl::StrCat(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const std::string& value) { return QuotedText(value); }
std::string Text(const IntVector& value) { return Braced(value); }
std::string Text(const Groups& groups) {
  return absl::StrCat(
      "{", absl::StrJoin(groups, ",", [](std::string* o, const IntVector& g) { o->append(Braced(g)); }), "}");
}
std::string Text(const Pairs& pairs) {
  return absl::StrCat("{",
                      absl::StrJoin(pairs, ",",
                                    [](std::string* o, const auto& p) {
                                      absl::StrAppend(o, "{", p.first, ",", p.second, "}");
                                    }),
                      "}");
}
std::string Text(const std::vector<std::string>& words) {
  return absl::StrCat(
      "{", absl::StrJoin(words, ",", [](std::string* o, const std::string& w) { o->append(QuotedText(w)); }),
      "}");
}
std::string Text(const std::vector<Sharding>& shardings) { return ShardingListText(shardings); }
std::string Text(const SliceRanges& ranges) {
  std::string out = "{";
  for (size_t i = 0; i < ranges.starts.size(); ++i) {
    absl::StrAppend(&out, i ? ", [" : "[", ranges.starts[i], ":", ranges.limits[i]);
    if (ranges.strides[i] != 1) absl::StrAppend(&out, ":", ranges.strides[i]);
    out += ']';
  }
  return out + "}";
}
std::string Text(const PadRanges& ranges) {
  std::string out;
  for (size_t i = 0; i < ranges.low.size(); ++i) {
    absl::StrAppend(&out, i ? "x" : "", ranges.low[i], "_", ranges.high[i]);
    if (ranges.interior[i] != 0) absl::StrAppend(&out, "_", ranges.interior[i]);
  }
  return out;
}
std::string Text(const OneDimension& one) {
  return one.dimensions.empty() ? "0" : absl::StrCat(one.dimensions[0]);
}
std::string Text(const DimLabels& labels) {
  const ConvolutionAttributes& c = labels.conv;
  const auto write = [](int64_t a, char name_a, int64_t b, char name_b, const IntVector& spatial) {
    std::string out(spatial.size() + 2, '?');
    const auto put = [&](int64_t at, char name) {
      if (at >= 0 && at < static_cast<int64_t>(out.size())) out[at] = name;
    };
    put(a, name_a);
    put(b, name_b);
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
    return out;
  };
  return absl::StrCat(write(c.input_batch, 'b', c.input_feature, 'f', c.input_spatial), "_",
                      write(c.kernel_input_feature, 'i', c.kernel_output_feature, 'o', c.kernel_spatial),
                      "->", write(c.output_batch, 'b', c.output_feature, 'f', c.output_spatial));
}
std::string Text(const OperandPrecision& p) {
  return p.precision == Precision::kDefault
             ? ""
             : absl::StrCat("{", EnumName(p.precision), ",", EnumName(p.precision), "}");
}
std::string Text(const OutputAliases& aliases) {
  if (aliases.pairs.empty()) return "";
  return absl::StrCat("{",
                      absl::StrJoin(aliases.pairs, ", ",
                                    [](std::string* o, const auto& p) {
                                      absl::StrAppend(o, "{", p.first, "}: (", p.second, ", {})");
                                    }),
                      "}");
}
std::string Text(const ApiVersion& version) {
  const bool known = version.number > 0 && version.number < static_cast<int64_t>(std::size(kApiVersions));
  return known ? std::string(kApiVersions[version.number]) : "";
}
std::string Text(const TotalOrder& total) { return total.value ? "TOTALORDER" : ""; }
template <typename T>
  requires std::is_enum_v<T>
std::string Text(T value) {
  return std::string(EnumName(value));
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

// Calls `item` for each element of "{a, b}".
template <typename F>
absl::Status ReadBraced(TextCursor& c, F item) {
  SHOAL_RETURN_IF_ERROR(c.Expect('{'));
  if (c.Eat('}')) return absl::OkStatus();
  do {
    SHOAL_RETURN_IF_ERROR(item());
  } while (c.Eat(','));
  return c.Expect('}');
}

absl::Status Read(TextCursor& c, int64_t& value) {
  SHOAL_ASSIGN_OR_RETURN(value, c.Int());
  return absl::OkStatus();
}
absl::Status Read(TextCursor& c, bool& value) {
  const absl::string_view word = c.Word();
  value = word == "true";
  return value || word == "false" ? absl::OkStatus() : c.Bad("expected true or false");
}
absl::Status Read(TextCursor& c, std::string& value) {
  if (c.Peek() == '{') {  // the MLIR dictionary of a typed custom call, which XLA writes bare
    value = std::string(c.rest());
    c.set_position(c.position() + value.size());
    return absl::OkStatus();
  }
  SHOAL_ASSIGN_OR_RETURN(value, c.Quoted());
  return absl::OkStatus();
}
absl::Status Read(TextCursor& c, IntVector& value) {
  return ReadBraced(c, [&]() -> absl::Status {
    SHOAL_ASSIGN_OR_RETURN(int64_t i, c.Int());
    value.push_back(i);
    return absl::OkStatus();
  });
}

// "[2,4]<=[4,2]T(1,0)": the ids 0..7 as an array [4,2], transposed, reshaped to 2 groups of 4.
absl::Status ReadIotaGroups(TextCursor& c, Groups& groups) {
  const auto ints = [&](char open, char close, IntVector& to) -> absl::Status {
    SHOAL_RETURN_IF_ERROR(c.Expect(open));
    do {
      SHOAL_ASSIGN_OR_RETURN(int64_t i, c.Int());
      to.push_back(i);
    } while (c.Eat(','));
    return c.Expect(close);
  };
  IntVector result, dims, permutation;
  SHOAL_RETURN_IF_ERROR(ints('[', ']', result));
  if (!c.Eat("<=")) return c.Bad("expected \"<=\"");
  SHOAL_RETURN_IF_ERROR(ints('[', ']', dims));
  for (size_t i = 0; i < dims.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
  if (c.Eat('T')) {
    permutation.clear();
    SHOAL_RETURN_IF_ERROR(ints('(', ')', permutation));
  }
  IntVector sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool good = result.size() == 2 && sorted.size() == dims.size() && result[1] > 0;
  for (size_t i = 0; good && i < sorted.size(); ++i)
    good = sorted[i] == static_cast<int64_t>(i) && dims[i] > 0;
  constexpr int64_t kMaxIds = 1 << 20;
  const absl::StatusOr<int64_t> count = CheckedProduct(dims);
  if (!good || !count.ok() || *count > kMaxIds || result[0] != *count / result[1] || *count % result[1] != 0)
    return c.Bad("bad iota replica groups");
  const DimVector strides = RowMajorStrides(dims);
  groups.assign(result[0], IntVector(result[1]));
  for (int64_t i = 0; i < *count; ++i) {
    int64_t id = 0, rest = i;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[permutation[d]])
      id += rest % dims[permutation[d]] * strides[permutation[d]];
    groups[i / result[1]][i % result[1]] = id;
  }
  return absl::OkStatus();
}

absl::Status Read(TextCursor& c, Groups& groups) {
  if (c.Peek() == '[') return ReadIotaGroups(c, groups);
  return ReadBraced(c, [&] { return Read(c, groups.emplace_back()); });
}
absl::Status Read(TextCursor& c, Pairs& pairs) {
  return ReadBraced(c, [&]() -> absl::Status {
    IntVector pair;
    SHOAL_RETURN_IF_ERROR(Read(c, pair));
    if (pair.size() != 2) return c.Bad("expected a pair");
    pairs.emplace_back(pair[0], pair[1]);
    return absl::OkStatus();
  });
}
absl::Status Read(TextCursor& c, std::vector<std::string>& words) {
  return ReadBraced(c, [&]() -> absl::Status {
    SHOAL_ASSIGN_OR_RETURN(std::string word, c.Quoted());
    words.push_back(std::move(word));
    return absl::OkStatus();
  });
}
absl::Status Read(TextCursor& c, SliceRanges& ranges) {
  return ReadBraced(c, [&]() -> absl::Status {
    SHOAL_RETURN_IF_ERROR(c.Expect('['));
    SHOAL_RETURN_IF_ERROR(Read(c, ranges.starts.emplace_back()));
    SHOAL_RETURN_IF_ERROR(c.Expect(':'));
    SHOAL_RETURN_IF_ERROR(Read(c, ranges.limits.emplace_back()));
    ranges.strides.push_back(1);
    if (c.Eat(':')) SHOAL_RETURN_IF_ERROR(Read(c, ranges.strides.back()));
    return c.Expect(']');
  });
}
absl::Status Read(TextCursor& c, PadRanges& ranges) {
  do {
    SHOAL_RETURN_IF_ERROR(Read(c, ranges.low.emplace_back()));
    SHOAL_RETURN_IF_ERROR(c.Expect('_'));
    SHOAL_RETURN_IF_ERROR(Read(c, ranges.high.emplace_back()));
    ranges.interior.push_back(0);
    if (c.Eat('_')) SHOAL_RETURN_IF_ERROR(Read(c, ranges.interior.back()));
  } while (c.Eat('x'));
  return absl::OkStatus();
}
absl::Status Read(TextCursor& c, OneDimension& one) { return Read(c, one.dimensions.emplace_back()); }
absl::Status Read(TextCursor& c, OperandPrecision& p) {
  return ReadBraced(c, [&] {
    Precision one;
    if (!ParseEnum(c.Word(), one)) return c.Bad("expected a precision");
    p.precision = std::max(p.precision, one);
    return absl::OkStatus();
  });
}
absl::Status Read(TextCursor& c, OutputAliases& aliases) {
  return ReadBraced(c, [&]() -> absl::Status {
    IntVector output, input;
    int64_t operand;
    SHOAL_RETURN_IF_ERROR(Read(c, output));
    SHOAL_RETURN_IF_ERROR(c.Expect(':'));
    SHOAL_RETURN_IF_ERROR(c.Expect('('));
    SHOAL_RETURN_IF_ERROR(Read(c, operand));
    if (c.Eat(',')) SHOAL_RETURN_IF_ERROR(Read(c, input));
    if (output.size() > 1 || !input.empty()) return c.Bad("only aliases of whole operands are known");
    aliases.pairs.emplace_back(output.empty() ? 0 : output[0], operand);
    return c.Expect(')');
  });
}
absl::Status Read(TextCursor& c, ApiVersion& version) {
  const absl::string_view word = c.Word();
  const auto* found = std::find(std::begin(kApiVersions), std::end(kApiVersions), word);
  if (found == std::end(kApiVersions)) return c.Bad("unknown API version");
  version.number = found - kApiVersions;
  return absl::OkStatus();
}
absl::Status Read(TextCursor& c, TotalOrder& total) {
  const absl::string_view word = c.Word();
  total.value = word == "TOTALORDER";
  const bool known = total.value || word == "FLOAT" || word == "SIGNED" || word == "UNSIGNED";
  return known ? absl::OkStatus() : c.Bad("unknown comparison type");
}

// "bf01" to the dimension of each letter, and of the spatial digits in order.
absl::Status ReadLabels(TextCursor& c, char name_a, int64_t& a, char name_b, int64_t& b, IntVector& spatial) {
  std::string labels;
  while (absl::ascii_isalnum(c.PeekHere())) {
    labels += c.PeekHere();
    c.set_position(c.position() + 1);
  }
  if (labels.size() < 2 || labels.size() > 12) return c.Bad("bad dim_labels");
  std::string names = {name_a, name_b};
  spatial.assign(labels.size() - 2, 0);
  for (size_t i = 0; i < spatial.size(); ++i) names += static_cast<char>('0' + i);
  std::vector<int64_t> place;
  for (char name : names) {
    const size_t at = labels.find(name);
    if (at == std::string::npos) return c.Bad("bad dim_labels");
    place.push_back(static_cast<int64_t>(at));
  }
  a = place[0];
  b = place[1];
  std::copy(place.begin() + 2, place.end(), spatial.begin());
  return absl::OkStatus();
}

absl::Status Read(TextCursor& c, DimLabels& labels) {
  ConvolutionAttributes& conv = labels.conv;
  SHOAL_RETURN_IF_ERROR(ReadLabels(c, 'b', conv.input_batch, 'f', conv.input_feature, conv.input_spatial));
  SHOAL_RETURN_IF_ERROR(c.Expect('_'));
  SHOAL_RETURN_IF_ERROR(
      ReadLabels(c, 'i', conv.kernel_input_feature, 'o', conv.kernel_output_feature, conv.kernel_spatial));
  if (!c.Eat("->")) return c.Bad("expected \"->\"");
  return ReadLabels(c, 'b', conv.output_batch, 'f', conv.output_feature, conv.output_spatial);
}

absl::Status ReadWindowField(TextCursor& c, absl::string_view name, WindowDimension& d) {
  if (name == "size") return Read(c, d.size);
  if (name == "stride") return Read(c, d.stride);
  if (name == "lhs_dilate") return Read(c, d.base_dilation);
  if (name == "rhs_dilate") return Read(c, d.window_dilation);
  if (name == "pad") {
    SHOAL_RETURN_IF_ERROR(Read(c, d.padding_low));
    SHOAL_RETURN_IF_ERROR(c.Expect('_'));
    return Read(c, d.padding_high);
  }
  if (name != "rhs_reversal") return c.Bad(absl::StrCat("unknown window field \"", name, "\""));
  int64_t reversal = 0;
  SHOAL_RETURN_IF_ERROR(Read(c, reversal));
  d.reversal = reversal != 0;
  return absl::OkStatus();
}

absl::Status Read(TextCursor& c, Window& window) {
  SHOAL_RETURN_IF_ERROR(c.Expect('{'));
  while (!c.Eat('}')) {
    const absl::string_view name = c.Word();
    SHOAL_RETURN_IF_ERROR(c.Expect('='));
    size_t i = 0;
    if (name == "size" && (c.Peek() == '}' || c.Peek() == ' ')) continue;
    do {
      if (i == window.size()) {
        if (name != "size") return c.Bad("a window's size comes first and has all dimensions");
        window.emplace_back();
      }
      SHOAL_RETURN_IF_ERROR(ReadWindowField(c, name, window[i++]));
    } while (c.Eat('x'));
    if (i != window.size()) return c.Bad("a window field for each dimension is wanted");
  }
  return absl::OkStatus();
}

template <typename T>
  requires std::is_enum_v<T>
absl::Status Read(TextCursor& c, T& value) {
  return ParseEnum(c.Word(), value) ? absl::OkStatus() : c.Bad("unknown word");
}

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
