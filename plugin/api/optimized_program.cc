#include "plugin/api/optimized_program.h"

#include "absl/strings/str_cat.h"

namespace shoal {

absl::StatusOr<std::string> OptimizedProgramBytes(const PjRtExecutable& executable) {
  return absl::UnimplementedError(absl::StrCat("the optimized program of ", executable.compiled.name));
}

}  // namespace shoal
