// Goldens of factor rules: one a family, alphabetical. The expected ones follow from each operation's
// definition in StableHLO's specification.
#include "sharding/rules/rule.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

class Rules : public testing::Test {
 protected:
  Instruction* Param(std::initializer_list<int64_t> dims, ElementType type = ElementType::kF32) {
    return computation_->AddParameter(next_++, Shape::Array(type, dims));
  }
  std::string RuleText(Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                       Attributes attributes = {}, std::vector<Computation*> called = {}) {
    return ToString(
        RuleFor(*computation_->Add(opcode, std::move(shape), operands, std::move(attributes), called)));
  }
  static Shape F32(std::initializer_list<int64_t> dims) { return Shape::Array(ElementType::kF32, dims); }
  Computation* Sum() {
    Computation* region = module_.AddComputation("sum");
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    Instruction* a = region->AddParameter(0, scalar);
    Instruction* b = region->AddParameter(1, scalar);
    region->set_root(region->Add(Opcode::kAdd, scalar, {a, b}));
    return region;
  }

  Module module_{"m"};
  Computation* computation_ = module_.AddComputation("main");
  int64_t next_ = 0;
};

TEST_F(Rules, BroadcastSharesTheOperandsDimensions) {
  EXPECT_EQ(RuleText(Opcode::kBroadcast, F32({3, 5}), {Param({5})}, DimensionsAttributes{{1}}),
            "([j]) -> [i,j] {i=3, j=5}");
}

TEST_F(Rules, ConcatenatedDimensionIsAPermutation) {
  EXPECT_EQ(
      RuleText(Opcode::kConcatenate, F32({3, 9}), {Param({3, 4}), Param({3, 5})}, DimensionsAttributes{{1}}),
      "([i,j], [i,j]) -> [i,j] {i=3, j=9 permutation}");
}

TEST_F(Rules, DotContractsAndBatches) {
  DotAttributes dot;
  dot.lhs_batch_dims = dot.rhs_batch_dims = {0};
  dot.lhs_contracting_dims = {2};
  dot.rhs_contracting_dims = {1};
  EXPECT_EQ(RuleText(Opcode::kDot, F32({2, 3, 5}), {Param({2, 3, 7}), Param({2, 7, 5})}, dot),
            "([i,j,l], [i,l,k]) -> [i,j,k] {i=2, j=3, k=5, l=7 reduction}");
}

TEST_F(Rules, DynamicUpdateSlicePassesWhatTheUpdateReplacesWhole) {
  Instruction* zero = Param({}, ElementType::kS32);
  EXPECT_EQ(RuleText(Opcode::kDynamicUpdateSlice, F32({8, 3}), {Param({8, 3}), Param({2, 3}), zero, zero}),
            "([i,j], [k,j], [], []) -> [i,j] {i=8 permutation, j=3, k=2 need-replication}");
}

TEST_F(Rules, ElementwiseIgnoresScalarOperands) {
  EXPECT_EQ(
      RuleText(Opcode::kSelect, F32({3, 5}), {Param({}, ElementType::kPred), Param({3, 5}), Param({3, 5})}),
      "([], [i,j], [i,j]) -> [i,j] {i=3, j=5}");
}

TEST_F(Rules, GatherOfRows) {
  GatherAttributes gather;
  gather.offset_dims = {1};
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  gather.slice_sizes = {1, 5};
  EXPECT_EQ(RuleText(Opcode::kGather, F32({7, 5}), {Param({9, 5}), Param({7, 1}, ElementType::kS32)}, gather),
            "([k,j], [i,l]) -> [i,j] {i=7, j=5, k=9 reduction, l=1 need-replication}");
}

TEST_F(Rules, ReduceCombinesByItsRegion) {
  EXPECT_EQ(
      RuleText(Opcode::kReduce, F32({3}), {Param({3, 5}), Param({})}, DimensionsAttributes{{1}}, {Sum()}),
      "([i,j], []) -> [i] {i=3, j=5 reduction}");
}

TEST_F(Rules, ReshapeCutsWhereBothCanBeCut) {
  EXPECT_EQ(RuleText(Opcode::kReshape, F32({2, 12}), {Param({6, 4})}), "([ij,k]) -> [i,jk] {i=2, j=3, k=4}");
  EXPECT_EQ(RuleText(Opcode::kReshape, F32({4, 3}), {Param({6, 2})}),
            "([ij,m]) -> [ik,l] {i=2, j=3 need-replication, k=2 need-replication, l=3 need-replication, "
            "m=2 need-replication}");
  EXPECT_EQ(RuleText(Opcode::kReshape, F32({1, 5, 1}), {Param({5})}), "([j]) -> [i,j,k] {i=1, j=5, k=1}");
}

TEST_F(Rules, SortNeedsTheSortedDimensionWhole) {
  EXPECT_EQ(RuleText(Opcode::kSort, F32({3, 5}), {Param({3, 5})}, SortAttributes{1, true}, {Sum()}),
            "([i,j]) -> [i,j] {i=3, j=5 need-replication}");
}

TEST_F(Rules, TransposeMovesFactors) {
  EXPECT_EQ(RuleText(Opcode::kTranspose, F32({5, 3}), {Param({3, 5})}, DimensionsAttributes{{1, 0}}),
            "([j,i]) -> [i,j] {i=5, j=3}");
}

// Every dimension of every array has factors whose sizes multiply to it: what propagation relies on.
TEST_F(Rules, EveryDimensionHasFactors) {
  Instruction* instruction = computation_->Add(Opcode::kReshape, F32({10, 21}), {Param({14, 15})});
  const FactorRule rule = RuleFor(*instruction);
  for (const auto& [factors, shape] :
       {std::pair(rule.operands[0], F32({14, 15})), {rule.results[0], F32({10, 21})}}) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      int64_t product = 1;
      for (int factor : factors[d]) product *= rule.factors[factor].size;
      EXPECT_EQ(product, shape.dim(d)) << ToString(rule);
    }
  }
}

}  // namespace
}  // namespace shoal
