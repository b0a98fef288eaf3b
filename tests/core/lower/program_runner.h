// For tests: HLO text in, compiled by fuse, schedule and lower, run on plain vectors.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/codegen/kernel.h"
#include "core/codegen/row_fusion.h"
#include "core/hlo/parser.h"
#include "core/lower/lower.h"
#include "core/memory/liveness.h"
#include "core/passes/fuse.h"
#include "core/passes/schedule.h"
#include "gtest/gtest.h"

namespace shoal {

inline KernelCache& TestKernels() {
  static auto* const cache = new KernelCache(*Jit::Create());
  return *cache;
}

// The computations of a loop over (i, x) that doubles x until i is 5.
constexpr absl::string_view kDoublingLoop = R"(
cond {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  twice = f32[3] add(x, x)
  ROOT t = (s32[], f32[3]) tuple(next, twice)
}
)";

inline absl::StatusOr<Lowered> LowerModule(Module& module, bool fuse, KernelCache& cache) {
  UnshareControl(module);
  if (fuse) {
    absl::StatusOr<bool> fused = Fuse(module, FusionModel{CanFuse, ElementCostNs, CanBeRowKernel});
    if (!fused.ok()) return fused.status();
  }
  absl::StatusOr<bool> scheduled = Schedule(module);
  if (!scheduled.ok()) return scheduled.status();
  return Lower(module, 0, cache);
}

inline absl::StatusOr<std::shared_ptr<const PlanProgram>> CompileModule(Module& module, bool fuse = true,
                                                                        KernelCache& cache = TestKernels()) {
  absl::StatusOr<Lowered> lowered = LowerModule(module, fuse, cache);
  if (!lowered.ok()) return lowered.status();
  return lowered->program;
}

inline std::shared_ptr<const PlanProgram> CompileText(absl::string_view text, bool fuse = true,
                                                      KernelCache& cache = TestKernels()) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return nullptr;
  absl::StatusOr<std::shared_ptr<const PlanProgram>> program = CompileModule(**module, fuse, cache);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : nullptr;
}

// Bytes of one array, aligned as the runtime's are.
class Bytes {
 public:
  explicit Bytes(int64_t size)
      : size_(size), data_(static_cast<char*>(std::aligned_alloc(64, (size + 127) / 64 * 64))) {
    std::memset(data_, 0x5a, size);
  }
  ~Bytes() { std::free(data_); }
  Bytes(Bytes&& other) : size_(other.size_), data_(std::exchange(other.data_, nullptr)) {}
  template <typename T>
  static Bytes Of(const std::vector<T>& values) {
    Bytes bytes(static_cast<int64_t>(values.size() * sizeof(T)));
    std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
    return bytes;
  }
  template <typename T>
  std::vector<T> As() const {
    std::vector<T> values(size_ / sizeof(T));
    std::memcpy(values.data(), data_, size_);
    return values;
  }
  char* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  int64_t size_;
  char* data_;
};

// The results, or an empty list after a failure.
inline std::vector<Bytes> RunProgram(const Program& program, const std::vector<Bytes>& parameters,
                                     Communicator* communicator = nullptr, int partition = 0) {
  static auto* const allocator = new Allocator("test", int64_t{1} << 30);
  RunContext context;
  context.partition = PartitionId(partition);
  context.allocator = allocator;
  context.communicator = communicator;
  for (const Bytes& parameter : parameters) context.parameters.push_back(parameter.data());
  std::vector<Bytes> results;
  for (size_t i = 0; i < program.result_shapes().size(); ++i) {
    results.emplace_back(program.result_shapes()[i].ByteSize());
    const int donor = program.result_donors()[i];
    context.results.push_back(donor >= 0 ? context.parameters[donor] : results.back().data());
  }
  const absl::Status status = program.Start(context).Await();
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return {};
  for (size_t i = 0; i < results.size(); ++i) {
    const int donor = program.result_donors()[i];
    if (donor >= 0) std::memcpy(results[i].data(), parameters[donor].data(), results[i].size());
  }
  return results;
}

}  // namespace shoal
