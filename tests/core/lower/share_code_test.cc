// Processes, here threads with a cache each, compile one program together.
#include "core/lower/share_code.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/core/lower/program_runner.h"

namespace shoal {
namespace {

using ::testing::Each;

constexpr int kKernels = 24;

class Store : public KeyValueStore {
 public:
  absl::Status Set(absl::string_view key, absl::string_view value) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!values_.emplace(key, value).second) return absl::AlreadyExistsError(key);
    set_.notify_all();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto there = [&] { return values_.count(std::string(key)) > 0; };
    if (!set_.wait_for(lock, absl::ToChronoMilliseconds(timeout), there))
      return absl::DeadlineExceededError(key);
    return values_[std::string(key)];
  }
  absl::StatusOr<std::string> TryGet(absl::string_view key) override {
    return Get(key, absl::ZeroDuration());
  }
  void Damage() {
    for (auto& [key, value] : values_) value[value.size() / 2] ^= 1;
  }

 private:
  std::mutex mutex_;
  std::condition_variable set_;
  std::map<std::string, std::string> values_;
};

// As a job's store is when process 0 has ended.
class StoreThatIsGone : public KeyValueStore {
 public:
  absl::Status Set(absl::string_view, absl::string_view) override { return absl::UnavailableError("gone"); }
  absl::StatusOr<std::string> Get(absl::string_view, absl::Duration) override {
    ++questions;
    return absl::UnavailableError("gone");
  }
  absl::StatusOr<std::string> TryGet(absl::string_view key) override {
    return Get(key, absl::ZeroDuration());
  }
  int questions = 0;
};

// x + x of the first n numbers, for every n up to kKernels: a kernel each.
std::string Text() {
  std::string text = "HloModule m\nENTRY main {\n  x = f32[64] parameter(0)\n", names, shapes;
  for (int n = 1; n <= kKernels; ++n) {
    absl::StrAppend(&text, "  a", n, " = f32[", n, "] slice(x), slice={[0:", n, "]}\n");
    absl::StrAppend(&text, "  b", n, " = f32[", n, "] add(a", n, ", a", n, ")\n");
    absl::StrAppend(&names, n == 1 ? "" : ", ", "b", n);
    absl::StrAppend(&shapes, n == 1 ? "" : ", ", "f32[", n, "]");
  }
  return absl::StrCat(text, "  ROOT t = (", shapes, ") tuple(", names, ")\n}\n");
}

// Compiles and runs it as process `self` of `count`; how many kernels this process compiled.
int64_t CompileAs(int self, int count, KeyValueStore& store) {
  KernelCache cache(*Jit::Create());
  std::unique_ptr<Module> module = *ParseHloText(Text());
  EXPECT_TRUE(Fuse(*module, FusionModel{CanFuse, ElementCostNs, CanBeRowKernel}).ok());
  EXPECT_TRUE(Schedule(*module).ok());
  absl::StatusOr<Lowered> lowered = Lower(*module, 7, cache, nullptr, {&store, self, count});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return -1;
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(std::vector<float>(64, 1.5f)));
  const std::vector<Bytes> out = RunProgram(*lowered->program, in);
  for (int n = 1; n <= kKernels; ++n) {
    EXPECT_EQ(out[n - 1].As<float>().size(), static_cast<size_t>(n));
    EXPECT_THAT(out[n - 1].As<float>(), Each(3.0f));
  }
  return cache.compiled_kernels();
}

// A process of a slow machine may wait in vain and compile more, so the threads go one after another where
// counts matter: each takes what those before it have given.
TEST(ShareCodeTest, WhatOthersGaveIsNotCompiledAgain) {
  Store store;
  const int64_t first = CompileAs(0, 3, store);
  const int64_t second = CompileAs(1, 3, store);
  const int64_t third = CompileAs(2, 3, store);
  EXPECT_EQ(first, kKernels);  // nobody was there, so it did all in the end
  EXPECT_LT(second, kKernels);
  EXPECT_LT(third, second);
  EXPECT_GT(third, 0);
  EXPECT_EQ(CompileAs(2, 3, store), third);  // the same program once more
}

TEST(ShareCodeTest, TogetherAndAtOnce) {
  Store store;
  std::vector<std::thread> processes;
  for (int self = 0; self < 4; ++self)
    processes.emplace_back([&store, self] { EXPECT_GT(CompileAs(self, 4, store), 0); });
  for (std::thread& process : processes) process.join();
}

TEST(ShareCodeTest, AStoreThatIsGoneIsAskedOnce) {
  StoreThatIsGone store;
  EXPECT_EQ(CompileAs(0, 16, store), kKernels);
  EXPECT_EQ(store.questions, 1);
}

TEST(ShareCodeTest, DamagedCodeIsCompiledAnew) {
  Store store;
  CompileAs(0, 2, store);
  store.Damage();
  EXPECT_EQ(CompileAs(1, 2, store), kKernels);
}

}  // namespace
}  // namespace shoal
