#include "core/hlo/field_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/sharding_text.h"

namespace shoal::field_text {
namespace {

constexpr absl::string_view kApiVersions[] = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

}  // namespace

static std::string Braced(const IntVector& ints) { return absl::StrCat("{", absl::StrJoin(ints, ","), "}"); }

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
static absl::Status ReadIotaGroups(TextCursor& c, Groups& groups) {
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
static absl::Status ReadLabels(TextCursor& c, char name_a, int64_t& a, char name_b, int64_t& b,
                               IntVector& spatial) {
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

static absl::Status ReadWindowField(TextCursor& c, absl::string_view name, WindowDimension& d) {
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

}  // namespace shoal::field_text
