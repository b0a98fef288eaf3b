#include "sharding/propagate/propagate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/hlo/parser.h"
#include "sharding/spec/layout.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

// "[{x}, {y}]" of an instruction after propagation.
class Propagate : public testing::Test {
 protected:
  void Run(absl::string_view body, const PropagationOptions& options = {}) {
    auto parsed = ParseHloText(absl::StrCat("HloModule m, num_partitions=8\n", body));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    module_ = *std::move(parsed);
    const absl::Status status = PropagateShardings(*module_, options);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string Of(absl::string_view name) {
    for (const Computation* computation : module_->computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (instruction->name() == name) return Dims(instruction->shardings().at(0));
      }
    }
    return "no such instruction";
  }
  static std::string Dims(const Sharding& sharding) {
    const std::string text = ToString(sharding);
    return text.substr(text.rfind('['), text.rfind(']') + 1 - text.rfind('['));
  }
  std::unique_ptr<Module> module_;
};

TEST_F(Propagate, ForwardThroughElementwise) {
  Run(R"(ENTRY main {
    a = f32[8,6] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {y}]}
    ROOT r = f32[8,6] negate(a)
  })",
      {{}, {true}});
  EXPECT_EQ(Of("r"), "[{x}, {y}]");
  EXPECT_EQ(Dims(module_->config().result_shardings[0]), "[{x}, {y}]");
}

TEST_F(Propagate, ResultsThatMayNotBeChosenAreReplicated) {
  Run(R"(ENTRY main {
    a = f32[8,6] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {y}]}
    ROOT r = f32[8,6] negate(a)
  })");
  EXPECT_EQ(Dims(module_->config().result_shardings[0]), "[{}, {}]");
}

TEST_F(Propagate, DevicesThatThereAreNotAreRefused) {
  const auto says = [](absl::string_view mesh) {
    auto module = ParseHloText(absl::StrCat(R"(HloModule m, num_partitions=4
      ENTRY main {
        ROOT a = f32[8] parameter(0), sharding={mesh<)",
                                            mesh, ">, [{x}]}\n}"));
    EXPECT_TRUE(module.ok()) << module.status();
    return std::string(PropagateShardings(**module).message());
  };
  EXPECT_EQ(says("[x=4], devices=[3,1,0,2]"), "");
  EXPECT_EQ(says("[x=2], devices=[3,1]"), "");
  EXPECT_THAT(says("[x=4], devices=[0,1,2,4]"), HasSubstr("beyond the program's 4 partitions"));
  EXPECT_THAT(says("[x=4], devices=[0,1,2,-1]"), HasSubstr("beyond"));
  EXPECT_THAT(says("[x=8]"), HasSubstr("beyond"));
  EXPECT_THAT(says("[x=2], devices=[1,1]"), HasSubstr("twice"));
}

TEST_F(Propagate, DotJoinsBothOperands) {
  Run(R"(ENTRY main {
    a = f32[8,6] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {}]}
    b = f32[6,4] parameter(1), sharding={mesh<[x=4,y=2]>, [{}, {y}]}
    ROOT d = f32[8,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  })",
      {{}, {true}});
  EXPECT_EQ(Of("d"), "[{x}, {y}]");
}

TEST_F(Propagate, BackwardToAParameterThatMayBeChosen) {
  Run(R"(ENTRY main {
    a = f32[8,6] parameter(0)
    b = f32[8,6] parameter(1), sharding={mesh<[x=4,y=2]>, [{}, {y}]}
    ROOT r = f32[8,6] add(a, b)
  })",
      {{true, false}, {true}});
  EXPECT_EQ(Of("a"), "[{}, {y}]");
}

// Chosen shardings of parameters must divide them; 6 is not divisible by 4.
TEST_F(Propagate, ChosenParametersAreEven) {
  Run(R"(ENTRY main {
    a = f32[6] parameter(0)
    ROOT r = f32[6] sharding-constraint(a), sharding={mesh<[x=4,y=2]>, [{x}]}
  })",
      {{true}, {true}});
  EXPECT_EQ(Of("a").find("x}"), std::string::npos) << Of("a");
}

TEST_F(Propagate, LoopStateIsOneSharding) {
  Run(R"(
    cond { s = (s32[], f32[8]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT }
    body { s2 = (s32[], f32[8]) parameter(0)
      i2 = s32[] get-tuple-element(s2), index=0
      v = f32[8] get-tuple-element(s2), index=1
      w = f32[8] sine(v)
      ROOT t = (s32[], f32[8]) tuple(i2, w) }
    ENTRY main {
      i0 = s32[] constant(0)
      a = f32[8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}]}
      t0 = (s32[], f32[8]) tuple(i0, a)
      l = (s32[], f32[8]) while(t0), condition=cond, body=body
      ROOT r = f32[8] get-tuple-element(l), index=1 })",
      {{}, {true}});
  EXPECT_EQ(Of("w"), "[{x}]");
  EXPECT_EQ(Of("r"), "[{x}]");
}

// Two uses of one constant must not infect each other.
TEST_F(Propagate, ConstantsCarryNothing) {
  Run(R"(ENTRY main {
    z = f32[] constant(0)
    c = f32[8,8] broadcast(z), dimensions={}
    a = f32[8,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {}]}
    b = f32[8,8] parameter(1)
    p = f32[8,8] add(a, c)
    q = f32[8,8] add(b, c)
    ROOT t = (f32[8,8], f32[8,8]) tuple(p, q)
  })",
      {{false, true}, {true}});
  EXPECT_EQ(Of("p"), "[{x}, {}]");
  EXPECT_EQ(Of("q"), "[{}, {}]");
}

// The lower number goes first, though the other is met earlier.
TEST_F(Propagate, UserPriorities) {
  Run(R"(ENTRY main {
    a = f32[8,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}p1, {}p1]}
    b = f32[8,8] parameter(1), sharding={mesh<[x=4,y=2]>, [{}, {x}]}
    ROOT r = f32[8,8] add(a, b)
  })",
      {{}, {true}});
  EXPECT_EQ(Of("r"), "[{}, {x}]");
}

TEST_F(Propagate, ClosedConstraintStops) {
  Run(R"(ENTRY main {
    a = f32[8,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {}]}
    n = f32[8,8] negate(a)
    k = f32[8,8] sharding-constraint(n), sharding={mesh<[x=4,y=2]>, [{}, {}]}
    ROOT r = f32[8,8] sine(k)
  })",
      {{}, {true}});
  EXPECT_EQ(Of("k"), "[{}, {}]");
  EXPECT_EQ(Of("r"), "[{}, {}]");
}

// 6 rows are no four parts: the axis goes to the 8 columns rather than to nowhere.
TEST_F(Propagate, ChosenResultsKeepTheirAxesOnDimensionsThatDivide) {
  Run(R"(ENTRY main {
    a = f32[32,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {}]}
    ROOT r = f32[30,8] slice(a), slice={[1:31], [0:8]}
  })",
      {{}, {true}});
  EXPECT_EQ(Dims(module_->config().result_shardings[0]), "[{}, {x}]");
}

// What the sum cannot be split over, the other operand is not either.
TEST_F(Propagate, OperandsTakeFromEachOtherOnlyWhatResultsHave) {
  Run(R"(ENTRY main {
    a = f32[8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x,y}]}
    b = f32[8] parameter(1)
    ROOT r = f32[8] add(a, b), sharding={mesh<[x=4,y=2]>, [{x}]}
  })",
      {{false, true}, {true}});
  EXPECT_EQ(Of("b"), "[{x}]");
}

TEST_F(Propagate, BarriersLetOneDirectionThrough) {
  const auto results = [&](absl::string_view direction) {
    Run(absl::StrCat(R"(ENTRY main {
      a = f32[8,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {?}]}
      n = f32[8,8] negate(a)
      b = f32[8,8] custom-call(n), custom_call_target="sdy.propagation_barrier", backend_config=")",
                     direction, R"("
      ROOT r = f32[8,8] sharding-constraint(b), sharding={mesh<[x=4,y=2]>, [{?}, {y}]}
    })"),
        {{}, {true}});
    return absl::StrCat(Of("n"), " ", Of("r"));
  };
  EXPECT_EQ(results("FORWARD"), "[{x}, {}] [{x}, {y}]");
  EXPECT_EQ(results("BACKWARD"), "[{x}, {y}] [{}, {y}]");
  EXPECT_EQ(results("NONE"), "[{x}, {}] [{}, {y}]");
}

// zeros_like(parameter), as an optimizer makes its state: sharded like the parameter, though zeros are made
// anew for each use elsewhere.
TEST_F(Propagate, GroupsShardAlike) {
  Run(R"(ENTRY main {
    a = f32[8,4] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {y}]}
    zero = f32[] constant(0)
    z = f32[8,4] broadcast(zero), dimensions={}
    g1 = () custom-call(a), custom_call_target="sdy.sharding_group", custom_call_has_side_effect=true, backend_config="7"
    g2 = () custom-call(z), custom_call_target="sdy.sharding_group", custom_call_has_side_effect=true, backend_config="7"
    ROOT t = (f32[8,4], f32[8,4]) tuple(a, z) })",
      {{}, {true}});
  EXPECT_EQ(Of("z"), "[{x}, {y}]");
  EXPECT_EQ(Dims(module_->config().result_shardings[1]), "[{x}, {y}]");
}

}  // namespace
}  // namespace shoal
