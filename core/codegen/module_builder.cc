#include "core/codegen/module_builder.h"

#include "core/jit/ir_module.h"

namespace shoal {

ModuleBuilder::ModuleBuilder(const std::string& name) : ir_(std::make_unique<IrModule>(name)) {}
ModuleBuilder::~ModuleBuilder() = default;
ModuleBuilder::ModuleBuilder(ModuleBuilder&&) = default;

absl::StatusOr<std::string> ModuleBuilder::Compile(const Jit& jit, CodeEffort effort) && {
  return jit.Compile(std::move(ir_), effort);
}

}  // namespace shoal
