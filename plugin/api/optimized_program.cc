#include "plugin/api/optimized_program.h"

#include "absl/strings/str_cat.h"
#include "core/hlo/module_proto.h"

namespace shoal {

absl::StatusOr<std::string> OptimizedProgramBytes(const PjRtExecutable& executable) {
  const CompiledModule& compiled = executable.compiled;
  if (compiled.optimized == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("the compiler kept no optimized program of ", compiled.name));
  }
  return ToHloModuleProtoWithConfig(*compiled.optimized);
}

}  // namespace shoal
