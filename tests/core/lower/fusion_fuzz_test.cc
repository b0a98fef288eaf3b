// Random graphs, compiled with and without fusion: the same numbers must come out.
#include <random>

#include "core/hlo/printer.h"
#include "gtest/gtest.h"
#include "tests/core/lower/program_runner.h"

namespace shoal {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed), module_(std::make_unique<Module>("graph")) {}

  std::unique_ptr<Module> Make() {
    entry_ = module_->AddComputation("main");
    module_->set_entry(entry_);
    MakeReducer();
    for (int i = 0; i < 3; ++i)
      pool_.push_back(entry_->AddParameter(i, Shape::Array(ElementType::kF32, {6, 35})));
    index_ = entry_->AddParameter(3, Shape::Scalar(ElementType::kS32));
    const int count = 8 + Below(20);
    for (int i = 0; i < count; ++i) Grow();
    std::vector<Instruction*> results;
    for (int i = 0; i < 1 + Below(4); ++i) results.push_back(pool_[pool_.size() - 1 - Below(5)]);
    entry_->set_root(entry_->AddTuple(results));
    if (Below(2) == 0) module_->config().donors = {0};
    return std::move(module_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  Instruction* Pick() {
    const int n = static_cast<int>(pool_.size());
    return Below(3) == 0 ? pool_[Below(n)] : pool_[n - 1 - Below(std::min(n, 4))];
  }
  Shape F32(absl::Span<const int64_t> dims) { return Shape::Array(ElementType::kF32, dims); }
  Instruction* Scalar(float value) { return entry_->AddConstant(Literal::Scalar(ElementType::kF32, value)); }
  Instruction* Index(int value) { return entry_->AddConstant(Literal::Scalar(ElementType::kS32, value)); }

  void MakeReducer() {
    sum_ = module_->AddComputation("sum");
    Instruction* a = sum_->AddParameter(0, Shape::Scalar(ElementType::kF32));
    Instruction* b = sum_->AddParameter(1, Shape::Scalar(ElementType::kF32));
    sum_->set_root(sum_->Add(Opcode::kAdd, a->shape(), {a, b}));
  }

  // Something of `like`'s shape, by a broadcast if need be.
  Instruction* OfShape(const Shape& like) {
    for (int i = 0; i < 6; ++i) {
      Instruction* pick = Pick();
      if (pick->shape() == like) return pick;
      if (pick->shape().rank() == 1 && like.rank() == 2) {
        for (int64_t d : {1, 0}) {
          if (pick->shape().dim(0) == like.dim(d)) {
            return entry_->Add(Opcode::kBroadcast, like, {pick}, DimensionsAttributes{{d}});
          }
        }
      }
    }
    return entry_->Add(Opcode::kBroadcast, like, {Scalar(0.5f * static_cast<float>(Below(5)))},
                       DimensionsAttributes{});
  }

  void Grow() {
    Instruction* a = Pick();
    const Shape& shape = a->shape();
    const int64_t rank = shape.rank();
    Instruction* made = nullptr;
    switch (Below(13)) {
      case 0:
        made = entry_->Add(Opcode::kTanh, shape, {a});
        break;
      case 1:
        made = entry_->Add(Opcode::kMultiply, shape, {a, OfShape(shape)});
        break;
      case 2:
      case 3:
        made = entry_->Add(Opcode::kAdd, shape, {a, OfShape(shape)});
        break;
      case 4:
        made = entry_->Add(Opcode::kMaximum, shape, {OfShape(shape), a});
        break;
      case 5:
        if (rank == 2)
          made = entry_->Add(Opcode::kTranspose, F32({shape.dim(1), shape.dim(0)}), {a},
                             DimensionsAttributes{{1, 0}});
        break;
      case 6: {
        if (rank != 2) break;
        const int64_t d = Below(2);
        made = entry_->Add(Opcode::kReduce, F32({shape.dim(1 - d)}), {a, Scalar(0)},
                           DimensionsAttributes{{d}}, {sum_});
        // Keeps numbers small.
        made = entry_->Add(Opcode::kMultiply, made->shape(), {made, OfShape(made->shape())});
        made = entry_->Add(Opcode::kTanh, made->shape(), {made});
        break;
      }
      case 7:
        made = entry_->Add(Opcode::kReshape, rank == 1 ? F32({shape.dim(0), 1}) : F32({shape.ElementCount()}),
                           {a});
        if (made->shape().rank() == 2) made = entry_->Add(Opcode::kReshape, F32({1, shape.dim(0)}), {made});
        break;
      case 8:
        if (rank == 2 && shape.dim(1) > 4) {
          made = entry_->Add(Opcode::kSlice, F32({shape.dim(0), shape.dim(1) - 3}), {a},
                             SliceAttributes{{0, 1}, {shape.dim(0), shape.dim(1) - 2}, {1, 1}});
        }
        break;
      case 9:
        if (rank == 2) {
          made = entry_->Add(Opcode::kConcatenate, F32({shape.dim(0), 2 * shape.dim(1)}), {a, OfShape(shape)},
                             DimensionsAttributes{{1}});
          if (made->shape().ElementCount() > 3000) made = nullptr;
        }
        break;
      case 10:
        if (rank == 2) {
          made = entry_->Add(Opcode::kDynamicSlice, F32({1, shape.dim(1)}), {a, index_, Index(0)},
                             DynamicSliceAttributes{{1, shape.dim(1)}});
          made = entry_->Add(Opcode::kNegate, made->shape(), {made});
          made = entry_->Add(Opcode::kDynamicUpdateSlice, shape,
                             {Below(2) == 0 ? a : OfShape(shape), made, index_, Index(0)});
        }
        break;
      case 11:
        if (rank == 2) {
          made = entry_->Add(Opcode::kPad, F32({shape.dim(0) + 1, shape.dim(1)}), {a, Scalar(0.25f)},
                             PadAttributes{{1, 0}, {0, 0}, {0, 0}});
        }
        break;
      case 12:
        made = entry_->Add(Opcode::kSubtract, shape, {a, a});
        made = entry_->Add(Opcode::kExp, shape, {made});
        break;
    }
    if (made != nullptr) pool_.push_back(made);
  }

  std::mt19937 random_;
  std::unique_ptr<Module> module_;
  Computation* entry_ = nullptr;
  Computation* sum_ = nullptr;
  Instruction* index_ = nullptr;
  std::vector<Instruction*> pool_;
};

std::vector<Bytes> Inputs(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> inputs;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> numbers(6 * 35);
    for (float& number : numbers) number = static_cast<float>(random() % 2001) / 1000.f - 1.f;
    inputs.push_back(Bytes::Of(numbers));
  }
  inputs.push_back(Bytes::Of(std::vector<int32_t>{static_cast<int32_t>(random() % 7) - 1}));
  return inputs;
}

TEST(FusionFuzzTest, FusedProgramsComputeTheSame) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    auto plain = RandomGraph(seed).Make(), fused = RandomGraph(seed).Make();
    const std::string text = ToText(*plain);
    auto plain_program = CompileModule(*plain, false);
    auto fused_program = CompileModule(*fused, true);
    ASSERT_TRUE(plain_program.ok()) << plain_program.status() << "\n" << text;
    ASSERT_TRUE(fused_program.ok()) << fused_program.status() << "\n" << ToText(*fused);
    const auto expected = RunProgram(**plain_program, Inputs(seed));
    const auto got = RunProgram(**fused_program, Inputs(seed));
    ASSERT_EQ(expected.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const auto want = expected[i].As<float>(), have = got[i].As<float>();
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_NEAR(want[k], have[k], 1e-4 * std::max(1.f, std::abs(want[k])))
            << "result " << i << " element " << k << "\n"
            << ToText(*fused);
      }
    }
  }
}

}  // namespace
}  // namespace shoal
