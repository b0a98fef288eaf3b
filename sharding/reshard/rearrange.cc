#include "sharding/reshard/rearrange.h"

#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"
#include "sharding/spec/layout.h"

namespace shoal {
namespace {

struct Transfer {
  int64_t from = 0, to = 0;
  int64_t source = 0;  // where it begins in the sender's arrays, laid end to end
  int64_t target = 0;
  int64_t size = 0;
};

struct Round {
  bool is_local = false;  // everybody sends to itself
  int64_t size = 0;
  std::vector<Transfer> transfers;
};

// Cut where the parts that hold them end.
std::vector<Transfer> TransfersOf(const Rearrangement& r) {
  const int64_t parts = SizeOf(r.axes);
  std::vector<int64_t> locals, bases = {0};
  for (int64_t global : r.globals) {
    locals.push_back(LocalSize(global, parts));
    bases.push_back(bases.back() + locals.back());
  }
  std::vector<Transfer> transfers;
  for (int64_t to = 0; to < parts; ++to) {
    for (const Piece& piece : r.wanted[to]) {
      const int64_t local = locals[piece.array];
      for (int64_t at = piece.first; at < piece.first + piece.size;) {
        const int64_t from = at / local;
        const int64_t end = std::min((from + 1) * local, piece.first + piece.size);
        transfers.push_back(
            {from, to, bases[piece.array] + at - from * local, piece.target + at - piece.first, end - at});
        at = end;
      }
    }
  }
  return transfers;
}

// Largest first, each into the first round where neither its sender nor its receiver has one: rounds then
// hold transfers of like sizes, for the largest of a round is what all send.
std::vector<Round> RoundsOf(const Rearrangement& r) {
  std::vector<Transfer> transfers = TransfersOf(r);
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const Transfer& a, const Transfer& b) { return a.size > b.size; });
  std::vector<Round> rounds;
  for (const Transfer& transfer : transfers) {
    const bool is_local = transfer.from == transfer.to;
    auto round = std::find_if(rounds.begin(), rounds.end(), [&](const Round& candidate) {
      return candidate.is_local == is_local &&
             std::none_of(candidate.transfers.begin(), candidate.transfers.end(), [&](const Transfer& other) {
               return other.from == transfer.from || other.to == transfer.to;
             });
    });
    if (round == rounds.end()) round = rounds.insert(round, Round{is_local, transfer.size, {}});
    round->transfers.push_back(transfer);
  }
  return rounds;
}

class Rearranger {
 public:
  Rearranger(LocalBuilder& builder, const Rearrangement& r) : b_(builder), r_(r), rounds_(RoundsOf(r)) {
    for (const Round& round : rounds_) largest_ = std::max(largest_, round.size);
  }

  Instruction* Run(absl::Span<Instruction* const> arrays) {
    Instruction* all = b_.Concatenate(arrays, r_.dim);
    all = b_.PadTo(all, r_.dim, std::max(all->shape().dim(r_.dim), largest_));
    // Room on both sides, for rounds that bring a part less than others.
    DimVector dims(all->shape().dims().begin(), all->shape().dims().end());
    dims[r_.dim] = r_.size + 2 * largest_;
    Instruction* result = b_.BroadcastScalar(b_.Zero(all->shape().element_type()), dims);
    for (const Round& round : rounds_) result = Add(round, all, result);
    return b_.Slice(result, r_.dim, largest_, largest_ + r_.size);
  }

 private:
  Instruction* Add(const Round& round, Instruction* all, Instruction* result) {
    const auto parts = static_cast<size_t>(SizeOf(r_.axes));
    // By part: where what it sends begins; of what it gets, which elements count, and where they go.
    std::vector<int64_t> start(parts, 0), begin(parts, 0), end(parts, 0), place(parts, 0);
    for (const Transfer& transfer : round.transfers) {
      const int64_t sent = std::min(transfer.source, all->shape().dim(r_.dim) - round.size);
      start[transfer.from] = sent;
      begin[transfer.to] = transfer.source - sent;
      end[transfer.to] = begin[transfer.to] + transfer.size;
      place[transfer.to] = largest_ + transfer.target - begin[transfer.to];
    }
    Instruction* piece = b_.DynamicSlice(all, r_.dim, b_.OfPart(r_.axes, start), round.size);
    if (!round.is_local) piece = b_.Permute(piece, PairsOf(round));
    Instruction* where = b_.OfPart(r_.axes, place);
    const bool all_count = std::all_of(begin.begin(), begin.end(), [](int64_t n) { return n == 0; }) &&
                           std::all_of(end.begin(), end.end(), [&](int64_t n) { return n == round.size; });
    if (!all_count) {
      const Shape shape = piece->shape().WithElementType(b_.position_type());
      Instruction* index = b_.Add(Opcode::kIota, shape, {}, DimensionsAttributes{{r_.dim}});
      const auto compare = [&](ComparisonDirection direction, const std::vector<int64_t>& values) {
        return b_.Compare(direction, index, b_.BroadcastScalar(b_.OfPart(r_.axes, values), shape.dims()));
      };
      Instruction* counts = b_.Binary(Opcode::kAnd, compare(ComparisonDirection::kGe, begin),
                                      compare(ComparisonDirection::kLt, end));
      piece = b_.Select(counts, piece, b_.DynamicSlice(result, r_.dim, where, round.size));
    }
    std::vector<Instruction*> operands = {result, piece};
    for (int64_t d = 0; d < result->shape().rank(); ++d) {
      operands.push_back(d == r_.dim ? where : b_.Position(0));
    }
    return b_.Add(Opcode::kDynamicUpdateSlice, result->shape(), operands);
  }

  Pairs PairsOf(const Round& round) const {
    Pairs pairs;
    for (const std::vector<int64_t>& group : GroupsAlong(b_.mesh(), r_.axes)) {
      for (const Transfer& transfer : round.transfers) {
        pairs.emplace_back(group[transfer.from], group[transfer.to]);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  LocalBuilder& b_;
  const Rearrangement& r_;
  const std::vector<Round> rounds_;
  int64_t largest_ = 0;  // of the rounds
};

}  // namespace

RearrangedTraffic TrafficOf(const Rearrangement& rearrangement) {
  RearrangedTraffic traffic;
  for (const Round& round : RoundsOf(rearrangement)) {
    if (round.is_local) continue;
    traffic.rows += round.size;
    ++traffic.rounds;
  }
  return traffic;
}

Instruction* Rearrange(LocalBuilder& builder, absl::Span<Instruction* const> arrays,
                       const Rearrangement& rearrangement) {
  return Rearranger(builder, rearrangement).Run(arrays);
}

}  // namespace shoal
