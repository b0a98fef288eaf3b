#include "core/codegen/element.h"
namespace shoal {
absl::StatusOr<Element> EmitConvolution(ElementEmitter& e, const Instruction& op, const Digits& at) {
  return NoEmitter(op);
}
}  // namespace shoal
