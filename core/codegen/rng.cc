#include "core/codegen/kernel_view.h"
namespace shoal {
absl::StatusOr<Kernel> EmitRngKernel(const KernelView& view, const std::string& name, IrModule& ir){ return NoEmitter(*view.op); }
absl::StatusOr<Kernel> EmitSortKernel(const KernelView& view, const std::string& name, IrModule& ir){ return NoEmitter(*view.op); }
absl::StatusOr<Kernel> EmitDotKernel(const KernelView& view, const std::string& name, IrModule& ir){ return EmitLoopKernel(view, name, ir); }
absl::StatusOr<Kernel> EmitConvolutionKernel(const KernelView& view, const std::string& name, IrModule& ir){ return EmitLoopKernel(view, name, ir); }
absl::StatusOr<Kernel> EmitReduceWindowKernel(const KernelView& view, const std::string& name, IrModule& ir){ return EmitLoopKernel(view, name, ir); }
}
