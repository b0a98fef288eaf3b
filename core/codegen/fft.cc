// EmitFftKernel: fft as the passes of core/kernels/fft.h, a phase each.
#include "core/kernels/fft.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/codegen/native_call.h"

namespace shoal {
namespace {

FftDirection DirectionOf(FftType type) {
  switch (type) {
    case FftType::kFft:
      return FftDirection::kForward;
    case FftType::kIfft:
      return FftDirection::kInverse;
    case FftType::kRfft:
      return FftDirection::kFromReal;
    case FftType::kIrfft:
      return FftDirection::kToReal;
  }
  return FftDirection::kForward;
}

}  // namespace

absl::StatusOr<Kernel> EmitFftKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Instruction& op = *view.root;
  const auto& fft = op.attributes<FftAttributes>();
  const Shape& operand = op.operand(0)->shape();
  const bool wide = RealPart(operand.element_type()) == ElementType::kF64;
  const FftProgram program = FftPasses(DirectionOf(fft.type), wide, operand.dims(), fft.length);
  Kernel kernel;
  kernel.scratch_bytes = program.scratch_bytes;
  for (size_t i = 0; i < program.passes.size(); ++i) {
    const FftPass& pass = program.passes[i];
    const double cost_ns = FftUnitCostNs(pass) * static_cast<double>(pass.units());
    AppendNativeCall("shoal_fft_pass", WordsOf(pass),
                     PhaseOf(absl::StrCat(name, ".", i), pass.units(), cost_ns), ir, kernel);
  }
  return kernel;
}

}  // namespace shoal
