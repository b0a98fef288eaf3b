// ChooseLoops: into which loops the row-major space of a kernel's output is split.
//
// A whole fusion of elementwise operations and reshapes runs as one flat loop. Broadcasting a row,
// transposing or slicing needs an index of its own for some dimensions: the space is cut there. A cut is
// named by the stride at which it lies: in f32[4,5,6] the cut between 5 and 6 is at stride 6, the one between
// 4 and 5 at 30.
#include <algorithm>
#include <functional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "core/codegen/kernel_view.h"

namespace shoal {
namespace {

using Cuts = std::set<int64_t, std::greater<int64_t>>;

class CutFinder {
 public:
  explicit CutFinder(const KernelView& view) : view_(view) {}

  const Cuts& Of(const Instruction& op) {
    if (auto it = found_.find(&op); it != found_.end()) return it->second;
    Cuts cuts;
    if (!view_.IsLeaf(&op)) cuts = Find(op);
    return found_.emplace(&op, std::move(cuts)).first->second;
  }

  // The dimension needs an index of its own.
  static void CutAround(const Shape& shape, int64_t d, Cuts& cuts) {
    int64_t stride = RowMajorStrides(shape.dims())[d];
    cuts.insert(stride);
    cuts.insert(stride * shape.dim(d));
  }

 private:
  static Cuts Everywhere(const Shape& shape) {
    Cuts cuts;
    for (int64_t d = 0; d < shape.rank(); ++d) CutAround(shape, d, cuts);
    return cuts;
  }

  // The cuts of `inner` seen from `outer`, where dimension d of inner is outer_dim[d] of outer (-1: none),
  // and the cuts between dimensions that are neighbours in one of them only.
  void Through(const Instruction& inner, const Shape& outer, absl::Span<const int64_t> outer_dim,
               Cuts& cuts) {
    const Shape& shape = inner.shape();
    DimVector inner_strides = RowMajorStrides(shape.dims()), outer_strides = RowMajorStrides(outer.dims());
    std::vector<int64_t> inner_dim(outer.rank(), -1);
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (outer_dim[d] >= 0) inner_dim[outer_dim[d]] = d;
    }
    for (int64_t d = 1; d < outer.rank(); ++d) {
      bool both_missing = inner_dim[d] < 0 && inner_dim[d - 1] < 0;
      bool neighbours = inner_dim[d - 1] >= 0 && inner_dim[d] == inner_dim[d - 1] + 1;
      if (!both_missing && !neighbours) cuts.insert(outer_strides[d - 1]);
    }
    for (int64_t cut : Of(inner)) {
      for (int64_t d = 0; d < shape.rank(); ++d) {
        if (outer_dim[d] < 0 || cut < inner_strides[d] || cut >= inner_strides[d] * shape.dim(d)) continue;
        cuts.insert(outer_strides[outer_dim[d]] * (cut / inner_strides[d]));
        break;
      }
    }
  }

  Cuts Find(const Instruction& op) {
    Cuts cuts;
    switch (FamilyOf(op.opcode())) {
      case OpFamily::kElementwise: {
        bool widens =
            op.opcode() == Opcode::kBitcastConvert && op.operand(0)->shape().dims() != op.shape().dims();
        if (widens) return Everywhere(op.shape());
        for (const Instruction* operand : op.operands()) {
          if (operand->shape().IsScalar()) continue;
          cuts.insert(Of(*operand).begin(), Of(*operand).end());
        }
        return cuts;
      }
      case OpFamily::kConstantFamily:
        if (op.opcode() == Opcode::kIota) CutAround(op.shape(), op.dimensions()[0], cuts);
        return cuts;
      case OpFamily::kReshapeFamily:
        return ReshapeCuts(op);
      case OpFamily::kSliceFamily:
        return SliceCuts(op);
      case OpFamily::kReduceFamily:
        return ReduceCuts(op);
      case OpFamily::kTupleFamily:
        if (op.opcode() == Opcode::kGetTupleElement) return Of(*op.operand(0));
        return cuts;
      default:
        return op.shape().IsArray() ? Everywhere(op.shape()) : cuts;
    }
  }

  Cuts ReshapeCuts(const Instruction& op) {
    const Instruction& operand = *op.operand(0);
    if (op.opcode() == Opcode::kReshape || op.opcode() == Opcode::kBitcast) return Of(operand);
    std::vector<int64_t> outer_dim(operand.shape().rank());
    for (size_t i = 0; i < op.dimensions().size(); ++i) {
      int64_t d = op.dimensions()[i];
      if (op.opcode() == Opcode::kBroadcast) {
        outer_dim[i] = d;
      } else {
        outer_dim[d] = static_cast<int64_t>(i);
      }
    }
    Cuts cuts;
    Through(operand, op.shape(), outer_dim, cuts);
    return cuts;
  }

  Cuts SliceCuts(const Instruction& op) {
    Cuts cuts;
    for (const Instruction* operand : op.operands()) {
      const Shape& inner = operand->shape();
      if (inner.rank() != op.shape().rank() || inner.rank() == 0) continue;
      std::vector<int64_t> outer_dim(inner.rank());
      bool reverse = op.opcode() == Opcode::kReverse;
      for (int64_t d = 0; d < inner.rank(); ++d) {
        bool changed = inner.dim(d) != op.shape().dim(d);
        if (reverse)
          changed = std::find(op.dimensions().begin(), op.dimensions().end(), d) != op.dimensions().end();
        if (op.opcode() == Opcode::kPad) {
          const auto& pad = op.attributes<PadAttributes>();
          changed |= pad.low[d] != 0 || (!pad.interior.empty() && pad.interior[d] != 0);
        }
        outer_dim[d] = changed ? -1 : d;
        if (changed) CutAround(op.shape(), d, cuts);
      }
      Through(*operand, op.shape(), outer_dim, cuts);
    }
    return cuts;
  }

  Cuts ReduceCuts(const Instruction& op) {
    const Shape outer = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
    Cuts cuts;
    for (int64_t k = 0; k < op.operand_count() / 2; ++k) {
      const Shape& inner = op.operand(k)->shape();
      std::vector<int64_t> outer_dim(inner.rank(), -1);
      int64_t kept = 0;
      for (int64_t d = 0; d < inner.rank(); ++d) {
        bool reduced = std::find(op.dimensions().begin(), op.dimensions().end(), d) != op.dimensions().end();
        if (!reduced) outer_dim[d] = kept++;
      }
      Through(*op.operand(k), outer, outer_dim, cuts);
    }
    return cuts;
  }

  const KernelView& view_;
  absl::flat_hash_map<const Instruction*, Cuts> found_;
};

// Rows shorter than this are not worth a loop of their own: the next loop outwards takes them in, and loads
// that are not contiguous any more become gathers.
constexpr int64_t kShortRow = 4;

}  // namespace

// Splits `total` elements at those of `cuts` that divide one another.
static LoopSpace SplitAt(const Cuts& cuts, int64_t total) {
  LoopSpace space;
  int64_t outer = total;
  for (int64_t cut : cuts) {
    if (cut <= 1 || cut >= outer || outer % cut != 0) continue;
    space.strides.push_back(cut);
    space.extents.push_back(outer / cut);
    outer = cut;
  }
  space.strides.push_back(1);
  space.extents.push_back(outer);
  return space;
}

LoopSpace ChooseLoops(const KernelView& view, const Shape& shape, absl::Span<const int64_t> around) {
  if (shape.ElementCount() == 0) return {};
  CutFinder finder(view);
  Cuts cuts;
  for (int64_t d : around) CutFinder::CutAround(shape, d, cuts);
  for (const KernelRoot& root : view.roots) {
    const Cuts& found = finder.Of(*root.op);
    cuts.insert(found.begin(), found.end());
  }
  while (!cuts.empty() && *cuts.rbegin() < kShortRow) cuts.erase(std::prev(cuts.end()));
  return SplitAt(cuts, shape.ElementCount());
}

ReduceSpace ChooseReduceLoops(const KernelView& view, absl::Span<const Instruction* const> heroes) {
  const Instruction& first = *heroes[0];
  const Shape& shape = first.operand(0)->shape();
  auto is_reduced = [&](int64_t d) {
    return std::find(first.dimensions().begin(), first.dimensions().end(), d) != first.dimensions().end();
  };
  // The borders between kept and reduced dimensions have to be cuts; others only where they divide those.
  Cuts borders, wishes;
  DimVector strides = RowMajorStrides(shape.dims());
  int64_t previous = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    if (previous >= 0 && is_reduced(previous) != is_reduced(d)) borders.insert(strides[previous]);
    previous = d;
  }
  CutFinder finder(view);
  for (const Instruction* hero : heroes) {
    for (int64_t k = 0; k < hero->operand_count() / 2; ++k) {
      const Cuts& found = finder.Of(*hero->operand(k));
      wishes.insert(found.begin(), found.end());
    }
  }
  for (int64_t wish : wishes) {
    bool divides = true;
    for (int64_t border : borders) divides &= wish > border ? wish % border == 0 : border % wish == 0;
    if (divides) borders.insert(wish);
  }
  ReduceSpace space;
  static_cast<LoopSpace&>(space) = SplitAt(borders, shape.ElementCount());
  for (size_t k = 0; k < space.extents.size(); ++k) {
    // A digit belongs to the dimension that its highest value moves.
    bool reduced = false;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      bool inside = strides[d] <= space.strides[k] && space.strides[k] < strides[d] * shape.dim(d);
      if (inside && shape.dim(d) > 1) reduced = is_reduced(d);
    }
    space.reduced.push_back(reduced);
  }
  // One element in all: a reduction of one element.
  if (shape.ElementCount() == 1) space.reduced.assign(space.extents.size(), true);
  return space;
}

}  // namespace shoal
