#include "core/ops/verify.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/opcode.h"
#include "core/hlo/verifier.h"
#include "core/ops/shape_inference.h"

namespace shoal {
namespace {

// The constraints on the dimensions and on the element type of the result, where they are not both C1.
struct ResultLabels {
  Opcode opcode;
  absl::string_view dims, type;
};
constexpr ResultLabels kResultLabels[] = {
    {Opcode::kAbs, "C1", "C2"},
    {Opcode::kAllGather, "C6", "C6"},
    {Opcode::kAllReduce, "C6", "C7"},
    {Opcode::kAllToAll, "C9", "C9"},
    {Opcode::kClamp, "C4", "C4"},
    {Opcode::kCollectiveBroadcast, "C3", "C3"},
    {Opcode::kCollectivePermute, "C5", "C5"},
    {Opcode::kCompare, "C2", "C2"},
    {Opcode::kComplex, "C2", "C3"},
    {Opcode::kConcatenate, "C6", "C5"},
    {Opcode::kConditional, "C4", "C4"},
    {Opcode::kConvolution, "C25", "C27"},
    {Opcode::kDot, "C12", "C12"},
    {Opcode::kDynamicSlice, "C5", "C1"},
    {Opcode::kFft, "C5", "C2"},
    {Opcode::kGather, "C22", "C23"},
    {Opcode::kGetTupleElement, "C2", "C2"},
    {Opcode::kImag, "C1", "C2"},
    {Opcode::kPad, "C4", "C1"},
    {Opcode::kReal, "C1", "C2"},
    {Opcode::kReduce, "C7", "C8"},
    {Opcode::kReduceScatter, "C8", "C9"},
    {Opcode::kReduceWindow, "C15", "C16"},
    {Opcode::kScatter, "C24", "C25"},
    {Opcode::kSelect, "C2", "C2"},
    {Opcode::kSelectAndScatter, "C11", "C12"},
    {Opcode::kSlice, "C5", "C1"},
    {Opcode::kSort, "C2", "C2"},
    {Opcode::kTranspose, "C3", "C1"},
    {Opcode::kTriangularSolve, "C4", "C4"},
    {Opcode::kWhile, "C3", "C3"},
};

absl::string_view ResultLabel(const Instruction& instruction, const Shape& wanted) {
  const Shape& shape = instruction.shape();
  const bool dims_differ = !shape.IsArray() || !wanted.IsArray() || shape.dims() != wanted.dims();
  for (const ResultLabels& row : kResultLabels) {
    if (row.opcode == instruction.opcode()) return dims_differ ? row.dims : row.type;
  }
  return "C1";
}

}  // namespace

absl::Status Verify(const Module& module) {
  SHOAL_RETURN_IF_ERROR(VerifyStructure(module));
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const std::string where = instruction->op_name().empty()
                                    ? instruction->name()
                                    : absl::StrCat(instruction->name(), " (", instruction->op_name(), ")");
      const absl::StatusOr<Shape> shape = InferShape(*instruction);
      if (!shape.ok()) return Annotate(shape.status(), absl::StrCat("%", where));
      if (*shape != instruction->shape()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "%", where, ": ", OpcodeName(instruction->opcode()), " ", ResultLabel(*instruction, *shape),
            ": the shape should be ", shape->ToString(), ", in ", instruction->ToString()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal
