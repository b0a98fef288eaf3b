#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportFft(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view type, c.Text("fft_type"));
  FftAttributes attributes;
  if (!ParseEnum(type, attributes.type)) return c.Error(absl::StrCat("the type ", type));
  SHOAL_ASSIGN_OR_RETURN(attributes.length, c.Ints("fft_length"));
  return c.Emit(Opcode::kFft, c.operands(), std::move(attributes));
}

}  // namespace shoal
