// EmitRowKernel: the kernel of what row_fusion.h describes. Internal to core/codegen.
#pragma once

#include <string>

#include "core/codegen/kernel_view.h"

namespace shoal {

// REQUIRES: NeedsRowKernel(*view.op).
absl::StatusOr<Kernel> EmitRowKernel(const KernelView& view, const std::string& name, IrModule& ir);

}  // namespace shoal
