// FactorRule: how the dimensions of an instruction's operands and results hang together, as a value.
//
// Every dimension is a list of *factors*, major to minor. Dimensions of different arrays that share a factor
// are split alike; the product of a dimension's factors is its size. With einsum letters:
//
//   dot        ([i,k], [k,j]) -> [i,j]       k is a reduction
//   reshape    ([ij]) -> [i,j]               one dimension, two factors
//   slice      ([i,j]) -> [i,j]              j, which is cut, is a permutation: shards alike, values move
//   sort       ([i,j]) -> [i,j]              j, which is sorted, needs replication
//
// propagation and partitioning know instructions only by their rules. Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/hlo/instruction.h"

namespace shoal {

enum class FactorKind : uint8_t {
  kPassThrough,      // parts are computed from like parts, independently
  kReduction,        // parts give partial results, to be combined by FactorRule::combiner
  kPermutation,      // shardings pass along it, but values move between parts
  kNeedReplication,  // every part needs the whole, though arrays that share it are split alike
};

// How partial results over reduction factors are combined.
enum class Combiner : uint8_t { kNone, kAdd, kMultiply, kMinimum, kMaximum, kAnd, kOr, kXor, kRegion };

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::kPassThrough;
  bool propagates = true;  // false: axes are not carried along it (batching that would rather stay apart)
  friend bool operator==(const Factor&, const Factor&) = default;
};

using FactorList = absl::InlinedVector<int, 2>;

// Factors of each dimension of one array.
using TensorFactors = std::vector<FactorList>;

struct FactorRule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;  // one a leaf of all operands
  std::vector<TensorFactors> results;   // one a leaf of the result
  Combiner combiner = Combiner::kNone;  // of reduction factors; kRegion: the instruction's own computation
  friend bool operator==(const FactorRule&, const FactorRule&) = default;
};

// "([i,k], [k,j]) -> [i,j] {i=4, j=6, k=8 reduction}".
std::string ToString(const FactorRule& rule);

// The rule of an instruction; FactorRules of control, tuple and sharding families are empty (no factors),
// because their arrays are linked by propagate itself.
FactorRule RuleFor(const Instruction& instruction);

// What the region of a reduction does, if it is one commutative operation on its two parameters; kRegion
// otherwise.
Combiner CombinerOf(const Computation& region);
// The opcode that computes a combiner other than kNone and kRegion.
Opcode OpcodeOf(Combiner combiner);

// Grows a rule factor by factor. Dimension -1 says that an array does not have the factor.
class RuleBuilder {
 public:
  // Arrays of rank 0 need no dimensions to be added.
  explicit RuleBuilder(const Instruction& instruction);

  // A factor on dimension `operand_dims[i]` of operand leaf i and `result_dims[j]` of result leaf j. Its size
  // is that of the largest of those dimensions.
  RuleBuilder& Add(absl::Span<const int64_t> operand_dims, absl::Span<const int64_t> result_dims,
                   FactorKind kind = FactorKind::kPassThrough);
  // Appends a factor of `size` to the dimensions; for dimensions of several factors.
  RuleBuilder& AddPart(int64_t size, absl::Span<const int64_t> operand_dims,
                       absl::Span<const int64_t> result_dims, FactorKind kind = FactorKind::kPassThrough);
  // Dimension d of all arrays that have `rank` dimensions, for each d except `special`.
  RuleBuilder& AddPointwise(int64_t rank, absl::Span<const int64_t> special = {});
  RuleBuilder& SetCombiner(Combiner combiner);
  int64_t operand_leaves() const { return static_cast<int64_t>(operand_shapes_.size()); }
  int64_t result_leaves() const { return static_cast<int64_t>(result_shapes_.size()); }
  // Every dimension that has no factor yet gets one of its own that needs replication.
  FactorRule Build();

 private:
  std::vector<Shape> operand_shapes_, result_shapes_;
  FactorRule rule_;
};

// No factor is shared: every dimension needs replication.
FactorRule ReplicatedRule(const Instruction& instruction);

}  // namespace shoal
