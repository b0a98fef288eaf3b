#include "core/jit/cpu.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace shoal {
namespace {

HostCpu Detect() {
  HostCpu cpu;
  cpu.name = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> features;
  for (const auto& entry : found) {
    features.push_back(absl::StrCat(entry.second ? "+" : "-", entry.first().str()));
  }
  std::sort(features.begin(), features.end());  // a StringMap's order is not fixed, the fingerprint is
  cpu.features = absl::StrJoin(features, ",");
  if (found.lookup("avx512f") && found.lookup("avx512vl") && found.lookup("avx512dq") &&
      found.lookup("avx512bw")) {
    cpu.vector_bytes = 64;
  } else if (found.lookup("avx2")) {
    cpu.vector_bytes = 32;
  }
  cpu.has_fma = found.lookup("fma") || found.lookup("neon");
  return cpu;
}

}  // namespace

const HostCpu& ThisCpu() {
  static const HostCpu* cpu = new HostCpu(Detect());
  return *cpu;
}

std::string CpuFingerprint() { return absl::StrCat(ThisCpu().name, ":", ThisCpu().features); }

}  // namespace shoal
