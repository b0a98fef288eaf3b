#include "core/stablehlo/text_reader.h"
namespace shoal {
absl::StatusOr<std::unique_ptr<MlirModule>> ReadMlirText(absl::string_view text) {
  return absl::UnimplementedError("text");
}
absl::StatusOr<MlirAttribute*> ParseMlirAttributeText(absl::string_view text, MlirModule* module) {
  return absl::UnimplementedError(text);
}
absl::StatusOr<MlirType*> ParseMlirTypeText(absl::string_view text, MlirModule* module) {
  return absl::UnimplementedError(text);
}
}  // namespace shoal
