#include "core/stablehlo/import.h"

#include <utility>

#include "core/base/status.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/text_reader.h"

namespace shoal {

absl::StatusOr<std::unique_ptr<Module>> ImportStableHlo(absl::string_view program) {
  absl::StatusOr<std::unique_ptr<MlirModule>> tree =
      LooksLikeBytecode(program) ? ReadMlirBytecode(program) : ReadMlirText(program);
  SHOAL_RETURN_IF_ERROR(tree.status());
  const MlirAttribute* name = (*tree)->top->Find("sym_name");
  auto module = std::make_unique<Module>(name == nullptr ? "module" : name->text);
  SHOAL_RETURN_IF_ERROR(Importer(tree->get(), module.get()).Run());
  return module;
}

}  // namespace shoal
