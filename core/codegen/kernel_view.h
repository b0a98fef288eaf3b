// What EmitKernel got, seen the same way whether it is a fusion or a lone instruction. Internal to
// core/codegen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/codegen/element.h"
#include "core/codegen/kernel.h"
#include "core/hlo/instruction.h"

namespace shoal {

// One array that the kernel writes: result `result` of `op`.
struct KernelRoot {
  const Instruction* op = nullptr;
  int64_t result = 0;
  Shape shape;
};

// One array that the kernel reads: `op` is a parameter of the fusion, or an operand of the instruction.
struct KernelLeaf {
  const Instruction* op = nullptr;
  int64_t buffer = 0;
};

struct KernelView {
  explicit KernelView(const Instruction& op);

  const Instruction* op = nullptr;    // what was given
  const Instruction* root = nullptr;  // the fusion's root, or `op` itself
  std::vector<KernelRoot> roots;      // in buffer order
  std::vector<KernelLeaf> leaves;
  int64_t operand_buffers = 0;

  bool IsLeaf(const Instruction* instruction) const;
  int64_t LeafBuffer(const Instruction* instruction) const;  // -1 if it is none
  int64_t OutputBuffer(int64_t root_index) const { return operand_buffers + root_index; }
  int64_t scratch_buffer() const { return operand_buffers + static_cast<int64_t>(roots.size()); }
  // Calls `visit` for every instruction that is computed inside the kernel, operands before users.
  void ForEach(absl::FunctionRef<void(const Instruction&)> visit) const;
};

// Starts a function void name(char* const* buffers, int64_t begin, int64_t end); Finish returns from it.
class KernelFunctionEmitter {
 public:
  KernelFunctionEmitter(IrModule& ir, const std::string& name, int width);
  LaneBuilder& lanes() { return lanes_; }
  ElementEmitter& elements() { return elements_; }
  llvm::Value* begin() { return begin_; }
  llvm::Value* end() { return end_; }
  // The pointer in place `i` of the table.
  llvm::Value* Buffer(int64_t i);
  // Binds all leaves of `view` to their buffers. Stores of outputs count as independent of loads of leaves.
  void BindLeaves(const KernelView& view);
  void Finish();

 private:
  LaneBuilder lanes_;
  ElementEmitter elements_;
  llvm::Value* table_ = nullptr;
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
};

// A phase of so many units that all together take `cost_ns`, with the grain of a task that is worth its
// start.
KernelPhase PhaseOf(std::string function, int64_t units, double cost_ns);

// The strategies. All return phases named after `name`.
absl::StatusOr<Kernel> EmitLoopKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitReduceKernel(const KernelView& view, const std::string& name, IrModule& ir);
// REQUIRES: ScanDimension(*view.root).
absl::StatusOr<Kernel> EmitScanKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitUpdateKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitScatterKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitRngKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitSortKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitDotKernel(const KernelView& view, const std::string& name, ModuleBuilder& builder);
absl::StatusOr<Kernel> EmitConvolutionKernel(const KernelView& view, const std::string& name, IrModule& ir);
absl::StatusOr<Kernel> EmitSelectAndScatterKernel(const KernelView& view, const std::string& name,
                                                  IrModule& ir);

// The reduces whose results, changed elementwise at most, are the roots; empty if a root is something else or
// they do not agree in what they reduce.
std::vector<const Instruction*> HeroReduces(const KernelView& view);

// The dimension along which a reduce-window is cumulative: its window reaches to the first element or to the
// last one. Empty for any other window.
std::optional<int64_t> ScanDimension(const Instruction& op);

// Lanes for a kernel whose innermost loop runs over `extent` elements, by the types and operations inside.
int ChooseWidth(const KernelView& view, int64_t extent);
double KernelCostPerElement(const KernelView& view);

// A loop nest over a row-major space, split where some operation needs its own index (cuts.cc).
struct LoopSpace {
  std::vector<int64_t> extents, strides;  // outermost first
};
// `around`: dimensions of `shape` that need an index of their own for the caller's sake.
LoopSpace ChooseLoops(const KernelView& view, const Shape& shape, absl::Span<const int64_t> around = {});
// Appends a phase `name` that copies operand buffers to outputs, buffer pair by pair, unless they are the
// same memory.
struct BufferCopy {
  int64_t from = 0, to = 0, bytes = 0;
};
void EmitCopyPhase(absl::Span<const BufferCopy> copies, const std::string& name, IrModule& ir,
                   Kernel& kernel);

// The same for the operand of reductions that agree in what they reduce: each digit is kept or reduced as a
// whole.
struct ReduceSpace : LoopSpace {
  std::vector<bool> reduced;
};
ReduceSpace ChooseReduceLoops(const KernelView& view, absl::Span<const Instruction* const> heroes);

}  // namespace shoal
