// HostCpu: what LLVM may use on the CPU this process runs on.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

struct HostCpu {
  std::string name;       // LLVM's: "sapphirerapids"
  std::string features;   // "+avx2,+fma,...": what the CPU and the operating system really allow
  int vector_bytes = 16;  // widest registers that generated code should use
  bool has_fma = false;
};

// Found once.
const HostCpu& ThisCpu();
// Same text on two machines: object code compiled on one runs on the other.
std::string CpuFingerprint();

}  // namespace shoal
