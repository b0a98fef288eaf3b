// XLA's sharding strings. A tile assignment gives each tile, in row-major order, a device; written as a list,
// or as "[tile dims]<=[reshape dims]T(permutation)": the devices in order, reshaped, transposed and reshaped
// to the tiles.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/hlo/op_sharding.h"
#include "core/stablehlo/import_sharding.h"

namespace shoal {
namespace {

constexpr int64_t kMostDevices = 1 << 16;

struct TileAssignment {
  DimVector tile_dims;
  std::vector<int64_t> devices;  // row-major over tile_dims
  bool replicate_last = false;
  std::vector<std::string> last_tile_kinds;  // "replicated", "manual": what the trailing tile dimensions are
};

class GspmdParser {
 public:
  GspmdParser(absl::string_view text, int64_t num_devices)
      : text_(text), rest_(text), num_devices_(num_devices) {}

  // One sharding or a tuple of them.
  absl::StatusOr<std::vector<Sharding>> ParseAll(absl::Span<const Shape> leaves) {
    std::vector<Sharding> shardings;
    if (absl::StartsWith(rest_, "{{")) {
      Take("{");
      for (const Shape& leaf : leaves) {
        if (!shardings.empty()) SHOAL_RETURN_IF_ERROR(Expect(","));
        SHOAL_ASSIGN_OR_RETURN(shardings.emplace_back(), ParseOne(leaf));
      }
      SHOAL_RETURN_IF_ERROR(Expect("}"));
    } else {
      for (const Shape& leaf : leaves) {
        rest_ = text_;
        SHOAL_ASSIGN_OR_RETURN(shardings.emplace_back(), ParseOne(leaf));
      }
    }
    if (!leaves.empty() && !rest_.empty()) return Wrong("more text than shardings");
    return shardings;
  }
  // Of the last sharding that was read.
  const std::vector<std::string>& manual_axes() const { return manual_axes_; }

 private:
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("the sharding \"", text_, "\": ", what));
  }
  bool Take(absl::string_view token) {
    while (absl::ConsumePrefix(&rest_, " ")) {
    }
    return absl::ConsumePrefix(&rest_, token);
  }
  absl::Status Expect(absl::string_view token) {
    if (Take(token)) return absl::OkStatus();
    return Wrong(absl::StrCat("\"", token, "\" is expected before \"", rest_, "\""));
  }
  absl::StatusOr<int64_t> Number() {
    while (absl::ConsumePrefix(&rest_, " ")) {
    }
    size_t digits = 0;
    while (digits < rest_.size() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[digits]))) ++digits;
    int64_t value = 0;
    if (!absl::SimpleAtoi(rest_.substr(0, digits), &value)) return Wrong("a number is expected");
    rest_.remove_prefix(digits);
    return value;
  }
  absl::StatusOr<DimVector> Numbers(absl::string_view open, absl::string_view close) {
    SHOAL_RETURN_IF_ERROR(Expect(open));
    DimVector numbers;
    while (!Take(close)) {
      if (!numbers.empty()) SHOAL_RETURN_IF_ERROR(Expect(","));
      SHOAL_ASSIGN_OR_RETURN(int64_t number, Number());
      numbers.push_back(number);
    }
    return numbers;
  }

  absl::StatusOr<Sharding> ParseOne(const Shape& leaf);
  absl::StatusOr<TileAssignment> ParseTiles();
  absl::Status ParseDevices(TileAssignment* tiles);
  absl::Status SkipMetadata();
  absl::StatusOr<Sharding> FromTiles(const TileAssignment& tiles, const Shape& leaf);

  absl::string_view text_;
  absl::string_view rest_;
  int64_t num_devices_;
  std::vector<std::string> manual_axes_;
};

// The digits of a tile number, major to minor, each a prime: "step" is by how much the device number grows
// with it.
struct Digit {
  int64_t prime = 2;
  int64_t step = 0;
};

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

// The digits of each tile dimension if every device number is the sum of its digits times their steps and the
// steps are the strides of one mesh over 0, 1, 2, ...; empty otherwise.
std::vector<std::vector<Digit>> DigitsOf(const TileAssignment& tiles, Mesh* mesh) {
  std::vector<std::vector<Digit>> digits;
  std::vector<Digit> all;
  int64_t below = static_cast<int64_t>(tiles.devices.size());
  for (int64_t dim : tiles.tile_dims) {
    std::vector<Digit>& of_dim = digits.emplace_back();
    for (int64_t prime : PrimeFactors(dim)) {
      below /= prime;
      of_dim.push_back({prime, tiles.devices[below] - tiles.devices[0]});
      all.push_back(of_dim.back());
    }
  }
  for (size_t tile = 0; tile < tiles.devices.size(); ++tile) {
    int64_t device = 0, rest = static_cast<int64_t>(tile);
    for (size_t i = all.size(); i-- > 0; rest /= all[i].prime) device += rest % all[i].prime * all[i].step;
    if (device != tiles.devices[tile]) return {};
  }
  std::sort(all.begin(), all.end(), [](const Digit& a, const Digit& b) { return a.step > b.step; });
  int64_t stride = 1;
  for (size_t i = all.size(); i-- > 0; stride *= all[i].prime) {
    if (all[i].step != stride) return {};
  }
  for (const Digit& digit : all) mesh->axes.push_back({absl::StrCat("s", digit.step), digit.prime});
  return digits;
}

AxisRef WholeAxis(const Mesh& mesh, absl::string_view name) {
  const int axis = mesh.AxisIndex(name);
  return {axis, 1, mesh.axes[axis].size};
}

absl::StatusOr<Sharding> GspmdParser::FromTiles(const TileAssignment& tiles, const Shape& leaf) {
  auto mesh = std::make_shared<Mesh>();
  mesh->name = "gspmd";
  Sharding sharding;
  const std::vector<std::vector<Digit>> digits = DigitsOf(tiles, mesh.get());
  if (digits.empty()) {
    for (size_t i = 0; i < tiles.tile_dims.size(); ++i) {
      mesh->axes.push_back({absl::StrCat("t", i), tiles.tile_dims[i]});
    }
    mesh->device_ids = tiles.devices;
  }
  const auto axes_of = [&](size_t tile_dim) {
    std::vector<std::string> names;
    if (!digits.empty()) {
      for (const Digit& digit : digits[tile_dim]) names.push_back(absl::StrCat("s", digit.step));
    } else if (tiles.tile_dims[tile_dim] > 1) {
      names.push_back(absl::StrCat("t", tile_dim));
    }
    return names;
  };
  const auto rank = static_cast<size_t>(leaf.rank());
  for (size_t i = 0; i < tiles.last_tile_kinds.size(); ++i) {
    if (tiles.last_tile_kinds[i] == "manual") manual_axes_ = axes_of(rank + i);
    if (tiles.last_tile_kinds[i] != "unreduced") continue;
    for (const std::string& name : axes_of(rank + i)) sharding.unreduced.push_back(WholeAxis(*mesh, name));
  }
  for (size_t i = 0; i < rank; ++i) {
    DimSharding dim;
    for (const std::string& name : axes_of(i)) dim.axes.push_back(WholeAxis(*mesh, name));
    sharding.dims.push_back(std::move(dim));
  }
  sharding.mesh = std::move(mesh);
  return sharding;
}

absl::Status GspmdParser::ParseDevices(TileAssignment* tiles) {
  const int64_t count = CheckedProduct(tiles->tile_dims).value_or(0);
  if (count < 1 || count > kMostDevices) return Wrong("no tiles, or too many");
  if (!Take("<=")) {
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) SHOAL_RETURN_IF_ERROR(Expect(","));
      SHOAL_ASSIGN_OR_RETURN(tiles->devices.emplace_back(), Number());
    }
    return absl::OkStatus();
  }
  SHOAL_ASSIGN_OR_RETURN(DimVector dims, Numbers("[", "]"));
  if (CheckedProduct(dims).value_or(0) != count)
    return Wrong("the two lists of dimensions differ in their product");
  DimVector permutation(dims.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (Take("T")) {
    SHOAL_ASSIGN_OR_RETURN(permutation, Numbers("(", ")"));
    DimVector sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted.size() != dims.size() || sorted[i] != static_cast<int64_t>(i))
        return Wrong("T is no permutation");
    }
    if (permutation.size() != dims.size()) return Wrong("T is no permutation");
  }
  const DimVector strides = RowMajorStrides(dims);
  for (int64_t tile = 0; tile < count; ++tile) {
    int64_t device = 0, rest = tile;
    for (size_t i = permutation.size(); i-- > 0;) {
      const int64_t dim = permutation[i];
      device += rest % dims[dim] * strides[dim];
      rest /= dims[dim];
    }
    tiles->devices.push_back(device);
  }
  return absl::OkStatus();
}

absl::StatusOr<TileAssignment> GspmdParser::ParseTiles() {
  TileAssignment tiles;
  SHOAL_ASSIGN_OR_RETURN(tiles.tile_dims, Numbers("[", "]"));
  SHOAL_RETURN_IF_ERROR(ParseDevices(&tiles));
  if (Take("last_tile_dim_replicate")) tiles.replicate_last = true;
  if (Take("last_tile_dims")) {
    SHOAL_RETURN_IF_ERROR(Expect("="));
    SHOAL_RETURN_IF_ERROR(Expect("{"));
    while (!Take("}")) {
      const size_t end = rest_.find_first_of(",}");
      if (end == absl::string_view::npos) return Wrong("a closing brace is missing");
      tiles.last_tile_kinds.emplace_back(rest_.substr(0, end));
      rest_.remove_prefix(end);
      Take(",");
    }
  }
  return tiles;
}

absl::Status GspmdParser::SkipMetadata() {
  if (!Take("metadata=")) return absl::OkStatus();
  int depth = 0;
  do {
    const size_t brace = rest_.find_first_of("{}");
    if (brace == absl::string_view::npos) return Wrong("a closing brace is missing");
    depth += rest_[brace] == '{' ? 1 : -1;
    rest_.remove_prefix(brace + 1);
  } while (depth > 0);
  return absl::OkStatus();
}

absl::StatusOr<Sharding> GspmdParser::ParseOne(const Shape& leaf) {
  SHOAL_RETURN_IF_ERROR(Expect("{"));
  manual_axes_.clear();
  Sharding sharding;
  if (Take("maximal device=")) {
    SHOAL_ASSIGN_OR_RETURN(int64_t device, Number());
    auto mesh = std::make_shared<Mesh>();
    mesh->name = "maximal";
    mesh->device_ids = {device};
    sharding.mesh = std::move(mesh);
    sharding.dims.resize(static_cast<size_t>(leaf.rank()));
  } else if (const bool unreduced = Take("unreduced"); unreduced || Take("replicated")) {
    auto mesh = std::make_shared<Mesh>();
    mesh->name = "gspmd";
    int64_t stride = num_devices_;
    for (int64_t prime : PrimeFactors(num_devices_)) {
      stride /= prime;
      mesh->axes.push_back({absl::StrCat("s", stride), prime});
      if (unreduced) sharding.unreduced.push_back({static_cast<int>(mesh->axes.size()) - 1, 1, prime});
    }
    sharding.mesh = std::move(mesh);
    sharding.dims.resize(static_cast<size_t>(leaf.rank()));
  } else if (Take("devices=")) {
    SHOAL_ASSIGN_OR_RETURN(TileAssignment tiles, ParseTiles());
    const size_t extra = tiles.last_tile_kinds.size() + (tiles.replicate_last ? 1 : 0);
    if (leaf.IsArray() && tiles.tile_dims.size() == static_cast<size_t>(leaf.rank()) + extra) {
      SHOAL_ASSIGN_OR_RETURN(sharding, FromTiles(tiles, leaf));
    } else if (leaf.IsArray()) {
      return Wrong(absl::StrCat(tiles.tile_dims.size(), " tile dimensions for ", leaf.ToString()));
    }
  } else if (!Take("manual") && !Take("unknown")) {
    return Wrong(absl::StrCat("it begins with \"", rest_.substr(0, 20), "\""));
  }
  // Who is sharded alike is no matter of the array alone: ImportGspmdConstraint reads it.
  if (Take("shard_as") || Take("shard_like")) SHOAL_RETURN_IF_ERROR(Number().status());
  SHOAL_RETURN_IF_ERROR(SkipMetadata());
  SHOAL_RETURN_IF_ERROR(Expect("}"));
  return sharding;
}

}  // namespace

absl::StatusOr<std::string> GspmdText(absl::string_view written) {
  if (absl::StartsWith(written, "{")) return std::string(written);
  const absl::StatusOr<OpSharding> parsed = ParseOpSharding(written);
  if (!parsed.ok()) return Annotate(parsed.status(), "a sharding that is no string \"{...}\"");
  return ToGspmdText(*parsed);
}

absl::StatusOr<std::vector<Sharding>> ParseGspmdShardings(absl::string_view text, const Shape& shape,
                                                          int64_t num_devices) {
  const std::vector<Shape> leaves = shape.Leaves();
  SHOAL_ASSIGN_OR_RETURN(const std::string string, GspmdText(text));
  return GspmdParser(string, num_devices).ParseAll(leaves);
}

absl::StatusOr<std::vector<std::string>> GspmdManualAxes(absl::string_view text, const Shape& shape,
                                                         int64_t num_devices) {
  SHOAL_ASSIGN_OR_RETURN(const std::string string, GspmdText(text));
  GspmdParser parser(string, num_devices);
  SHOAL_RETURN_IF_ERROR(parser.ParseAll({shape}).status());
  return parser.manual_axes();
}

}  // namespace shoal
