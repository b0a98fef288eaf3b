#include "sharding/reshard/halo.h"

#include <algorithm>
#include <map>

#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"
#include "sharding/reshard/cost.h"

namespace shoal {
namespace {

// Who exchanges with neighbours waits for these alone.
constexpr double kHaloStep = kStepCost / 8;

// What comes from the part `shift` places on: elements [low, high) of it, for the parts in `receivers`.
struct Piece {
  int64_t low = 0, high = 0;
  std::vector<int64_t> receivers;
};

struct Pieces {
  int64_t parts = 0, local = 0;
  std::map<int64_t, Piece> by_shift;  // every shift from the first to the last
};

Pieces PiecesOf(const HaloWindow& w) {
  Pieces pieces;
  pieces.parts = SizeOf(w.axes);
  pieces.local = (w.global + pieces.parts - 1) / pieces.parts;
  if (pieces.local == 0) {
    pieces.by_shift[0] = Piece{};
    return pieces;
  }
  for (int64_t part = 0; part < pieces.parts; ++part) {
    const int64_t begin = std::max<int64_t>(w.first + part * w.step, 0);
    const int64_t end = std::min(w.first + part * w.step + w.size, w.global);
    if (begin >= end) continue;
    for (int64_t from = begin / pieces.local; from <= (end - 1) / pieces.local; ++from) {
      const int64_t low = std::max<int64_t>(begin - from * pieces.local, 0);
      const int64_t high = std::min(end - from * pieces.local, pieces.local);
      auto [it, is_new] = pieces.by_shift.try_emplace(from - part, Piece{low, high, {}});
      it->second.low = std::min(it->second.low, low);
      it->second.high = std::max(it->second.high, high);
      it->second.receivers.push_back(part);
    }
  }
  if (pieces.by_shift.empty()) pieces.by_shift[0] = Piece{0, 0, {}};
  // The pieces are laid end to end, so only the outer ones may be cut, and only outside.
  const int64_t first = pieces.by_shift.begin()->first, last = pieces.by_shift.rbegin()->first;
  for (int64_t shift = first; shift <= last; ++shift) {
    Piece& piece = pieces.by_shift[shift];
    if (shift > first) piece.low = 0;
    if (shift < last) piece.high = pieces.local;
  }
  return pieces;
}

Instruction* Receive(LocalBuilder& b, Instruction* x, const HaloWindow& w, int64_t shift,
                     const Piece& piece) {
  Instruction* part = b.Slice(x, w.dim, piece.low, piece.high);
  if (shift == 0) return part;
  if (piece.receivers.empty()) {
    return b.BroadcastScalar(b.Zero(part->shape().element_type()), part->shape().dims());
  }
  Pairs pairs;
  for (const std::vector<int64_t>& group : GroupsAlong(b.mesh(), w.axes)) {
    for (int64_t receiver : piece.receivers) pairs.emplace_back(group[receiver + shift], group[receiver]);
  }
  std::sort(pairs.begin(), pairs.end());
  return b.Permute(part, std::move(pairs));
}

// Elements outside [0, global) become `fill`.
Instruction* MaskOutside(LocalBuilder& b, Instruction* x, const HaloWindow& w, Instruction* fill) {
  const Shape shape = x->shape().WithElementType(b.position_type());
  Instruction* begin = b.Binary(Opcode::kMultiply, b.Coordinate(w.axes), b.Position(w.step));
  begin = b.Binary(Opcode::kAdd, begin, b.Position(w.first));
  Instruction* index = b.Add(Opcode::kIota, shape, {}, DimensionsAttributes{{w.dim}});
  index = b.Binary(Opcode::kAdd, index, b.BroadcastScalar(begin, shape.dims()));
  Instruction* zero = b.BroadcastScalar(b.Position(0), shape.dims());
  Instruction* end = b.BroadcastScalar(b.Position(w.global), shape.dims());
  Instruction* inside = b.Binary(Opcode::kAnd, b.Compare(ComparisonDirection::kGe, index, zero),
                                 b.Compare(ComparisonDirection::kLt, index, end));
  return b.Select(inside, x, b.BroadcastScalar(fill, x->shape().dims()));
}

}  // namespace

double HaloCost(const HaloWindow& window, double row_bytes) {
  int64_t sent = 0;
  for (const auto& [shift, piece] : PiecesOf(window).by_shift) {
    if (shift != 0) sent += piece.high - piece.low;
  }
  return row_bytes * (static_cast<double>(sent) + kMemoryByte * static_cast<double>(window.size)) + kHaloStep;
}

Instruction* FetchWindow(LocalBuilder& b, Instruction* x, const HaloWindow& w, Instruction* fill) {
  const Pieces pieces = PiecesOf(w);
  std::vector<Instruction*> received;
  for (const auto& [shift, piece] : pieces.by_shift) {
    if (piece.high > piece.low) received.push_back(Receive(b, x, w, shift, piece));
  }
  if (received.empty()) received.push_back(b.Slice(x, w.dim, 0, 0));
  Instruction* all = b.Concatenate(received, w.dim);
  // Where the window of part i begins in `all`: base + i*slope.
  const auto& [first_shift, first_piece] = *pieces.by_shift.begin();
  int64_t base = w.first - first_shift * pieces.local - first_piece.low;
  const int64_t slope = w.step - pieces.local;
  const int64_t last = base + slope * (pieces.parts - 1);
  const int64_t low = std::max<int64_t>(0, -std::min(base, last));
  const int64_t high = std::max<int64_t>(0, std::max(base, last) + w.size - all->shape().dim(w.dim));
  if (low + high > 0) all = b.Pad(all, w.dim, low, high, b.Zero(x->shape().element_type()));
  base += low;
  Instruction* window = nullptr;
  if (slope == 0) {
    window = b.Slice(all, w.dim, base, base + w.size);
  } else {
    Instruction* start = b.Binary(Opcode::kMultiply, b.Coordinate(w.axes), b.Position(slope));
    window = b.DynamicSlice(all, w.dim, b.Binary(Opcode::kAdd, start, b.Position(base)), w.size);
  }
  const bool leaves = w.first < 0 || w.first + w.step * (pieces.parts - 1) + w.size > w.global;
  return fill != nullptr && leaves ? MaskOutside(b, window, w, fill) : window;
}

Instruction* FetchRolled(LocalBuilder& b, Instruction* x, int64_t dim, const AxisList& axes, int64_t shift) {
  const int64_t parts = SizeOf(axes), local = x->shape().dim(dim);
  auto from = [&](Instruction* piece, int64_t places) {  // of the part so many places before this one
    if (places % parts == 0) return piece;
    Pairs pairs;
    for (const std::vector<int64_t>& group : GroupsAlong(b.mesh(), axes)) {
      for (int64_t i = 0; i < parts; ++i) pairs.emplace_back(group[i], group[(i + places) % parts]);
    }
    std::sort(pairs.begin(), pairs.end());
    return b.Permute(piece, std::move(pairs));
  };
  const int64_t places = shift / local, rest = shift % local;
  Instruction* beginning = from(b.Slice(x, dim, 0, local - rest), places);
  if (rest == 0) return beginning;
  return b.Concatenate({from(b.Slice(x, dim, local - rest, local), places + 1), beginning}, dim);
}

Instruction* FetchMirrored(LocalBuilder& b, Instruction* x, const AxisList& axes) {
  Pairs pairs;
  const int64_t last = SizeOf(axes) - 1;
  for (const std::vector<int64_t>& group : GroupsAlong(b.mesh(), axes)) {
    for (int64_t i = 0; i <= last; ++i) pairs.emplace_back(group[last - i], group[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  return b.Permute(x, std::move(pairs));
}

}  // namespace shoal
