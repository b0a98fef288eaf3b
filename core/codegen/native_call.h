// Kernels that core/kernels does: their phases call one of RuntimeSymbols(). Internal to core/codegen.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/codegen/kernel_view.h"
#include "core/jit/ir_module.h"

namespace shoal {

// Emits `phase.function` as a call of symbol(words, buffers, begin, end), where `words` is a constant.
void AppendNativeCall(const std::string& symbol, absl::Span<const int64_t> words, KernelPhase phase,
                      IrModule& ir, Kernel& kernel);

// fft; cholesky and triangular-solve.
absl::StatusOr<Kernel> EmitFftKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitLinalgKernel(const KernelView& view, const std::string& name, IrModule& ir);

// A struct of integers as `words`.
template <class Fields>
std::vector<int64_t> WordsOf(const Fields& fields) {
  static_assert(sizeof(Fields) % sizeof(int64_t) == 0);
  std::vector<int64_t> words(sizeof(Fields) / sizeof(int64_t));
  std::memcpy(words.data(), &fields, sizeof(Fields));
  return words;
}

}  // namespace shoal
