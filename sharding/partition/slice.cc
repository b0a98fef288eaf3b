// A slice that takes little of a split dimension: the few parts that have a piece of it give it to all, and
// nothing else moves.
//
//   x[5:6] of [0 1 2 | 3 4 5 | 6 7 8]:   part 1 has it whole, at [2,3); it broadcasts one row
#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/cost.h"
#include "sharding/reshard/plan.h"

namespace shoal {
namespace {

// More broadcasts than this are no little slice.
constexpr int64_t kMaxPieces = 4;

// Elements [start, limit) of part `part`, every stride-th.
struct Piece {
  int64_t part, start, limit;
};

// Of elements [start, limit) of a dimension in parts of `local`, every stride-th.
std::vector<Piece> PiecesOf(int64_t start, int64_t limit, int64_t stride, int64_t local) {
  std::vector<Piece> pieces;
  for (int64_t part = start / local; part * local < limit; ++part) {
    const int64_t begin = part * local, skipped = (std::max(begin - start, int64_t{0}) + stride - 1) / stride;
    const int64_t first = start + skipped * stride, last = std::min(limit, begin + local);
    if (first < last) pieces.push_back({part, first - begin, last - begin});
  }
  return pieces;
}

}  // namespace

bool TrySliceOfFewParts(Region& region, const Instruction& old, double limit) {
  const auto& slice = old.attributes<SliceAttributes>();
  const Shape& global = old.operand(0)->shape();
  const Layout layout = region.CurrentLayout(old.operand(0));
  if (!layout.partial.empty() || old.shape().ElementCount() == 0) return false;
  Layout after = layout;
  // Dimensions that are whole here are cut first, then those of the fewest pieces.
  std::vector<std::pair<std::vector<Piece>, int64_t>> cuts;
  for (int64_t d = 0; d < global.rank(); ++d) {
    if (old.shape().dim(d) == global.dim(d)) continue;
    std::vector<Piece> pieces;
    if (!layout.dims[d].empty()) {
      pieces = PiecesOf(slice.starts[d], slice.limits[d], slice.strides[d],
                        LocalSize(global.dim(d), SizeOf(layout.dims[d])));
      if (static_cast<int64_t>(pieces.size()) > kMaxPieces) return false;
      after.dims[d].clear();
    }
    cuts.emplace_back(std::move(pieces), d);
  }
  if (after == layout) return false;
  std::stable_sort(cuts.begin(), cuts.end(),
                   [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
  const Layout wanted = region.WantedLayout(&old);
  double cost = PlanReshard(region.mesh(), old.shape(), after, wanted, region.manual()).cost;
  Shape local = LocalShape(global, layout);
  cost += kMemoryByte * static_cast<double>(local.ByteSize() + LocalShape(old.shape(), after).ByteSize());
  for (const auto& [pieces, d] : cuts) {
    DimVector dims(local.dims().begin(), local.dims().end());
    dims[d] = old.shape().dim(d);
    local = local.WithDims(dims);
    if (!pieces.empty()) {
      cost += static_cast<double>(pieces.size()) * kStepCost + static_cast<double>(local.ByteSize());
    }
  }
  if (cost >= limit) return false;

  LocalBuilder& b = region.builder();
  Instruction* x = region.Get(old.operand(0), layout);
  for (const auto& [pieces, d] : cuts) {
    if (pieces.empty()) {
      x = b.Slice(x, d, slice.starts[d], slice.limits[d], slice.strides[d]);
      continue;
    }
    std::vector<Instruction*> parts;
    for (const Piece& piece : pieces) {
      Instruction* own = b.Slice(x, d, piece.start, piece.limit, slice.strides[d]);
      parts.push_back(b.CollectiveBroadcast(own, layout.dims[d], piece.part));
    }
    x = b.Concatenate(parts, d);
  }
  region.SetResult(&old, 0, x, after);
  return true;
}

}  // namespace shoal
