#include "core/stablehlo/import.h"

#include <utility>

#include "core/base/status.h"
#include "core/stablehlo/gspmd_manual.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/text_reader.h"

namespace shoal {

absl::StatusOr<std::unique_ptr<Module>> ImportStableHlo(absl::string_view program, int64_t num_partitions,
                                                        EntryLayouts* layouts, int64_t num_replicas) {
  absl::StatusOr<std::unique_ptr<MlirModule>> tree =
      LooksLikeBytecode(program) ? ReadMlirBytecode(program) : ReadMlirText(program);
  SHOAL_RETURN_IF_ERROR(tree.status());
  const MlirAttribute* name = (*tree)->top->Find("sym_name");
  auto module = std::make_unique<Module>(name == nullptr ? "module" : name->text);
  module->config().num_partitions = num_partitions;
  module->config().num_replicas = num_replicas;
  SHOAL_RETURN_IF_ERROR(Importer(tree->get(), module.get()).Run());
  SHOAL_RETURN_IF_ERROR(FormManualRegions(*module));
  if (layouts != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(*layouts, EntryLayoutsOf(**tree));
  }
  return module;
}

}  // namespace shoal
