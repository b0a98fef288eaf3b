// Native code goes to another cache as bytes; what does not fit is refused.
#include "core/lower/saved_code.h"

#include "core/lower/saved_code.pb.h"
#include "gmock/gmock.h"
#include "tests/core/lower/program_runner.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kText = absl::StrCat(R"(
HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
})",
                                       kDoublingLoop, R"(ENTRY main {
  x = f32[3] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[3]) tuple(zero, x)
  loop = (s32[], f32[3]) while(init), condition=cond, body=body
  y = f32[3] get-tuple-element(loop), index=1
  e = f32[3] exponential(x)
  z = f32[3] add(y, e)
  nought = f32[] constant(0)
  r = f32[] reduce(z, nought), dimensions={0}, to_apply=sum
  ROOT t = (f32[3], f32[]) tuple(z, r)
}
)");

absl::StatusOr<Lowered> LowerText(KernelCache& cache) {
  std::unique_ptr<Module> module = *ParseHloText(kText);
  return LowerModule(*module, /*fuse=*/true, cache);
}

std::string Saved() {
  KernelCache cache(*Jit::Create());
  return SaveCode(*LowerText(cache)->code);
}

TEST(SavedCodeTest, AnotherCacheCompilesNothing) {
  const std::string saved = Saved();
  KernelCache cache(*Jit::Create());
  ASSERT_EQ(RestoreCode(saved, cache), absl::OkStatus());
  ASSERT_EQ(RestoreCode(saved, cache), absl::OkStatus());  // all there already
  absl::StatusOr<Lowered> lowered = LowerText(cache);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(cache.compiled_kernels(), 0);
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(std::vector<float>{0, 0, 0}));
  const std::vector<Bytes> out = RunProgram(*lowered->program, in);
  EXPECT_THAT(out[0].As<float>(), ElementsAre(1, 1, 1));
  EXPECT_THAT(out[1].As<float>(), ElementsAre(3));
  EXPECT_GT(SaveCode(*lowered->code).size(), 1000u);  // it can be handed on
}

TEST(SavedCodeTest, WhatDoesNotFitIsRefused) {
  wire::SavedCode good;
  ASSERT_TRUE(good.ParseFromString(Saved()));
  ASSERT_GT(good.objects_size(), 0);
  KernelCache cache(*Jit::Create());
  const auto message_of = [&](const wire::SavedCode& code) {
    return std::string(RestoreCode(code.SerializeAsString(), cache).message());
  };
  wire::SavedCode code = good;
  code.set_cpu("z80");
  EXPECT_THAT(message_of(code), HasSubstr("z80"));
  code = good;
  code.set_build("yesterday's");
  EXPECT_THAT(message_of(code), HasSubstr("yesterday's"));
  code = good;
  (*code.mutable_objects(0)->mutable_object())[100] ^= 1;
  EXPECT_THAT(message_of(code), HasSubstr("checksum"));
  EXPECT_EQ(RestoreCode("\xff\xff nonsense", cache).code(), absl::StatusCode::kInvalidArgument);
  const std::string whole = good.SerializeAsString();
  EXPECT_FALSE(RestoreCode(whole.substr(0, whole.size() / 2), cache).ok());
  EXPECT_EQ(LowerText(cache).status(), absl::OkStatus());
}

}  // namespace
}  // namespace shoal
