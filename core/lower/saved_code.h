// SavedCode: the native code of a program as bytes, for other processes on the same kind of CPU.
//
// Only a supplement: the program itself is kept as its source and goes through the compiler again, which then
// finds its kernels in the cache and leaves LLVM alone. So code that is stale, damaged or of another CPU
// costs time and nothing else. Kernels that are library routines are not saved; they cost nothing to make.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/lower/kernel_cache.h"

namespace shoal {

std::string SaveCode(const ProgramCode& code);
// Loads what `cache` does not have yet. FailedPrecondition naming both sides if the code is of another build
// or CPU, InvalidArgument if it is damaged.
absl::Status RestoreCode(absl::string_view saved, KernelCache& cache);

}  // namespace shoal
