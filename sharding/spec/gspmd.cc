#include "sharding/spec/gspmd.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/types/shape.h"
#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

// Far more than any machine has; keeps hostile text from asking for memory.
constexpr int64_t kMaxDevices = int64_t{1} << 20;

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<OpSharding> Parse() {
    SHOAL_ASSIGN_OR_RETURN(OpSharding sharding, ParseOne(0));
    SkipSpace();
    if (!rest_.empty()) return Error("nothing more");
    return sharding;
  }

 private:
  absl::StatusOr<OpSharding> ParseOne(int depth) {
    if (depth > 1) return Error("no tuple inside a tuple");
    if (!Eat("{")) return Error("'{'");
    OpSharding sharding;
    SkipSpace();
    if (rest_.empty()) return Error("a sharding");
    if (rest_[0] == '{' || rest_[0] == '}') return ParseTuple(depth);
    if (Eat("replicated")) {
    } else if (Eat("manual")) {
      sharding.type = OpSharding::Type::kManual;
    } else if (Eat("unreduced")) {
      sharding.type = OpSharding::Type::kUnreduced;
    } else if (Eat("maximal")) {
      sharding.type = OpSharding::Type::kMaximal;
      if (!Eat("device=")) return Error("'device='");
      SHOAL_ASSIGN_OR_RETURN(int64_t device, ParseInt());
      sharding.devices = {device};
    } else if (Eat("devices=")) {
      SHOAL_RETURN_IF_ERROR(ParseTiles(sharding));
    } else {
      return Error("replicated, maximal, manual, unreduced or devices=");
    }
    SkipMetadata();
    if (!Eat("}")) return Error("'}'");
    return sharding;
  }

  absl::StatusOr<OpSharding> ParseTuple(int depth) {
    OpSharding tuple;
    tuple.type = OpSharding::Type::kTuple;
    while (!Eat("}")) {
      SHOAL_ASSIGN_OR_RETURN(OpSharding element, ParseOne(depth + 1));
      tuple.elements.push_back(std::move(element));
      Eat(",");
    }
    return tuple;
  }

  absl::Status ParseTiles(OpSharding& sharding) {
    sharding.type = OpSharding::Type::kOther;
    SHOAL_ASSIGN_OR_RETURN(sharding.tile_dims, ParseList('[', ']'));
    if (Eat("<=")) {
      SHOAL_ASSIGN_OR_RETURN(sharding.reshape_dims, ParseList('[', ']'));
      if (Eat("T")) {
        SHOAL_ASSIGN_OR_RETURN(std::vector<int64_t> order, ParseList('(', ')'));
        sharding.transpose.assign(order.begin(), order.end());
      } else {
        sharding.transpose.resize(sharding.reshape_dims.size());
        std::iota(sharding.transpose.begin(), sharding.transpose.end(), 0);
      }
    } else {
      do {
        SHOAL_ASSIGN_OR_RETURN(int64_t device, ParseInt());
        sharding.devices.push_back(device);
      } while (Eat(","));
    }
    if (Eat("last_tile_dim_replicate")) {
      sharding.last_tile_dims = {OpSharding::Type::kReplicated};
    } else if (Eat("last_tile_dims={")) {
      SHOAL_RETURN_IF_ERROR(ParseLastTileDims(sharding));
    }
    return Check(sharding);
  }

  absl::Status ParseLastTileDims(OpSharding& sharding) {
    while (!Eat("}")) {
      if (Eat("replicated")) {
        sharding.last_tile_dims.push_back(OpSharding::Type::kReplicated);
      } else if (Eat("manual")) {
        sharding.last_tile_dims.push_back(OpSharding::Type::kManual);
      } else if (Eat("unreduced")) {
        sharding.last_tile_dims.push_back(OpSharding::Type::kUnreduced);
      } else {
        return Error("replicated, manual or unreduced");
      }
      Eat(",");
    }
    return absl::OkStatus();
  }

  absl::Status Check(const OpSharding& s) {
    SHOAL_ASSIGN_OR_RETURN(int64_t tiles, CheckedProduct(s.tile_dims));
    if (tiles > kMaxDevices || tiles < 1) return Error(absl::StrCat("1 to ", kMaxDevices, " devices"));
    if (s.last_tile_dims.size() > s.tile_dims.size()) return Error("no more last_tile_dims than dimensions");
    if (s.reshape_dims.empty()) {
      if (static_cast<int64_t>(s.devices.size()) != tiles) return Error(absl::StrCat(tiles, " devices"));
      return absl::OkStatus();
    }
    SHOAL_ASSIGN_OR_RETURN(int64_t iota, CheckedProduct(s.reshape_dims));
    if (iota != tiles) return Error(absl::StrCat("an iota of ", tiles));
    std::vector<int> sorted = s.transpose;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<int>(i)) return Error("a permutation after T");
    }
    if (sorted.size() != s.reshape_dims.size()) return Error("a permutation of all iota dimensions");
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> ParseList(char open, char close) {
    if (!Eat(absl::string_view(&open, 1))) return Error(absl::StrCat("'", std::string(1, open), "'"));
    std::vector<int64_t> list;
    while (!Eat(absl::string_view(&close, 1))) {
      SHOAL_ASSIGN_OR_RETURN(int64_t value, ParseInt());
      list.push_back(value);
      Eat(",");
    }
    return list;
  }

  absl::StatusOr<int64_t> ParseInt() {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() && absl::ascii_isdigit(rest_[n])) ++n;
    int64_t value;
    if (!absl::SimpleAtoi(rest_.substr(0, n), &value)) return Error("a number");
    rest_.remove_prefix(n);
    return value;
  }

  // " metadata={...}" says nothing about placement.
  void SkipMetadata() {
    if (!Eat("metadata=")) return;
    int depth = 0;
    while (!rest_.empty()) {
      if (depth == 0 && rest_[0] == '}') return;
      depth += rest_[0] == '{' ? 1 : rest_[0] == '}' ? -1 : 0;
      rest_.remove_prefix(1);
      if (depth == 0) return;
    }
  }

  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Eat(absl::string_view word) {
    SkipSpace();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  absl::Status Error(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("sharding '", text_, "': at character ",
                                                   text_.size() - rest_.size(), " expected ", expected));
  }

  absl::string_view text_, rest_;
};

absl::string_view TypeWord(OpSharding::Type type) {
  switch (type) {
    case OpSharding::Type::kManual:
      return "manual";
    case OpSharding::Type::kUnreduced:
      return "unreduced";
    default:
      return "replicated";
  }
}

std::string TiledText(const OpSharding& s) {
  std::string text = absl::StrCat("{devices=[", absl::StrJoin(s.tile_dims, ","), "]");
  if (s.reshape_dims.empty()) {
    absl::StrAppend(&text, absl::StrJoin(s.devices, ","));
  } else {
    absl::StrAppend(&text, "<=[", absl::StrJoin(s.reshape_dims, ","), "]");
    if (!std::is_sorted(s.transpose.begin(), s.transpose.end())) {
      absl::StrAppend(&text, "T(", absl::StrJoin(s.transpose, ","), ")");
    }
  }
  if (s.last_tile_dims == std::vector<OpSharding::Type>{OpSharding::Type::kReplicated}) {
    absl::StrAppend(&text, " last_tile_dim_replicate");
  } else if (!s.last_tile_dims.empty()) {
    absl::StrAppend(
        &text, " last_tile_dims={",
        absl::StrJoin(s.last_tile_dims, ", ",
                      [](std::string* out, OpSharding::Type type) { absl::StrAppend(out, TypeWord(type)); }),
        "}");
  }
  return text + "}";
}

// iota dimensions in mesh order and where each stands in `order`, which lists all atoms of the mesh.
void SetIota(const Mesh& mesh, const AxisList& order, OpSharding& result) {
  AxisList sorted = Merged(order);
  const AxisList merged = sorted;
  std::sort(sorted.begin(), sorted.end());
  for (const AxisRef& ref : sorted) result.reshape_dims.push_back(ref.size);
  for (const AxisRef& ref : merged) {
    result.transpose.push_back(
        static_cast<int>(std::find(sorted.begin(), sorted.end(), ref) - sorted.begin()));
  }
  if (std::is_sorted(result.transpose.begin(), result.transpose.end())) {
    result.reshape_dims = {mesh.device_count()};
    result.transpose = {0};
  }
}

}  // namespace

std::vector<int64_t> DevicesOf(const OpSharding& s) {
  if (s.reshape_dims.empty()) return s.devices;
  const DimVector strides = RowMajorStrides(s.reshape_dims);
  std::vector<int64_t> devices = {0};
  for (int dim : s.transpose) {
    std::vector<int64_t> next;
    for (int64_t base : devices) {
      for (int64_t i = 0; i < s.reshape_dims[dim]; ++i) next.push_back(base + i * strides[dim]);
    }
    devices = std::move(next);
  }
  return devices;
}

absl::StatusOr<OpSharding> ParseGspmd(absl::string_view text) { return Parser(text).Parse(); }

std::string ToGspmdText(const OpSharding& sharding) {
  switch (sharding.type) {
    case OpSharding::Type::kMaximal:
      return absl::StrCat("{maximal device=", sharding.devices.empty() ? 0 : sharding.devices[0], "}");
    case OpSharding::Type::kOther:
      return TiledText(sharding);
    case OpSharding::Type::kTuple:
      return absl::StrCat("{",
                          absl::StrJoin(sharding.elements, ", ",
                                        [](std::string* out, const OpSharding& element) {
                                          absl::StrAppend(out, ToGspmdText(element));
                                        }),
                          "}");
    default:
      return absl::StrCat("{", TypeWord(sharding.type), "}");
  }
}

absl::StatusOr<Sharding> FromOpSharding(const OpSharding& sharding, int64_t rank) {
  Sharding result;
  result.dims.resize(rank);
  auto mesh = std::make_shared<Mesh>();
  if (sharding.type == OpSharding::Type::kMaximal) {
    mesh->device_ids = sharding.devices;
    result.mesh = std::move(mesh);
    return result;
  }
  if (sharding.type != OpSharding::Type::kOther) return result;
  const int64_t tiled = static_cast<int64_t>(sharding.tile_dims.size() - sharding.last_tile_dims.size());
  if (tiled != rank) {
    return absl::InvalidArgumentError(absl::StrCat("sharding ", ToGspmdText(sharding), " tiles ", tiled,
                                                   " dimensions of an array that has ", rank));
  }
  mesh->name = "gspmd";
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    mesh->axes.push_back({absl::StrCat("d", d), sharding.tile_dims[d]});
  }
  mesh->device_ids = DevicesOf(sharding);
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    const AxisRef whole = WholeAxis(*mesh, static_cast<int>(d));
    if (whole.size == 1) continue;
    if (static_cast<int64_t>(d) < rank) {
      result.dims[d].axes = {whole};
    } else if (sharding.last_tile_dims[d - rank] == OpSharding::Type::kUnreduced) {
      result.unreduced.push_back(whole);
    }
  }
  std::vector<int64_t> iota(mesh->device_ids.size());
  std::iota(iota.begin(), iota.end(), 0);
  if (mesh->device_ids == iota) mesh->device_ids.clear();
  result.mesh = std::move(mesh);
  return result;
}

OpSharding ToOpSharding(const Sharding& sharding) {
  OpSharding result;
  if (sharding.mesh == nullptr) return result;
  const Mesh& mesh = *sharding.mesh;
  if (mesh.IsMaximal()) {
    result.type = OpSharding::Type::kMaximal;
    result.devices = mesh.device_ids;
    return result;
  }
  AxisList order, all;
  for (const DimSharding& dim : sharding.dims) {
    const AxisList atoms = Atoms(dim.axes);
    result.tile_dims.push_back(SizeOf(atoms));
    order = Concat(order, atoms);
  }
  for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis) all.push_back(WholeAxis(mesh, axis));
  const AxisList unreduced = Atoms(sharding.unreduced);
  const AxisList rest = Without(Without(Atoms(all), order), unreduced);
  if (order.empty() && unreduced.empty()) return result;
  result.type = OpSharding::Type::kOther;
  auto add_last = [&](const AxisList& axes, OpSharding::Type type) {
    if (axes.empty()) return;
    result.tile_dims.push_back(SizeOf(axes));
    result.last_tile_dims.push_back(type);
    order = Concat(order, axes);
  };
  add_last(unreduced, OpSharding::Type::kUnreduced);
  add_last(rest, OpSharding::Type::kReplicated);
  if (mesh.device_ids.empty()) {
    SetIota(mesh, order, result);
    return result;
  }
  std::vector<int64_t> by_order(mesh.device_count());
  const std::vector<int64_t> devices = Devices(mesh);
  for (int64_t position = 0; position < mesh.device_count(); ++position) {
    by_order[Coordinate(mesh, position, order)] = devices[position];
  }
  result.devices = std::move(by_order);
  return result;
}

}  // namespace shoal
