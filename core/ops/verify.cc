#include "core/ops/verify.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/verifier.h"
#include "core/ops/shape_inference.h"

namespace shoal {

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
        return absl::InvalidArgumentError(absl::StrCat("%", where, ": ", instruction->ToString(),
                                                       ": the shape should be ", shape->ToString()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal
