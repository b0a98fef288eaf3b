#include "plugin/compile/inspect_sharding.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/op_sharding.h"
#include "sharding/spec/gspmd.h"

namespace shoal {
namespace {

// As XLA's inspect_sharding.h lays them out, in C.
struct CallbackArgs {
  const char* sharding;  // a serialized OpSharding
  size_t sharding_size;
  const char* error;  // null: none
  void* error_scratch;
  void (*free_error)(CallbackArgs* args);
};
struct Callback {
  void (*call)(void* data, CallbackArgs* args);
  void* data;
};

absl::Status CallBack(const Instruction& inspection, const OpSharding& sharding) {
  const std::string& config = inspection.attributes<CustomCallAttributes>().backend_config;
  Callback callback;
  if (config.size() != sizeof(callback) || inspection.operand_count() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        inspection.name(), ": InspectSharding with ", inspection.operand_count(), " operands and ",
        config.size(), " bytes of configuration; it takes 1 and the ", sizeof(callback), " of a callback"));
  }
  std::memcpy(&callback, config.data(), sizeof(callback));
  const std::string bytes = SerializeOpSharding(sharding);
  CallbackArgs args = {bytes.data(), bytes.size(), nullptr, nullptr, nullptr};
  callback.call(callback.data, &args);
  if (args.error == nullptr) return absl::OkStatus();
  const absl::Status status =
      absl::InternalError(absl::StrCat("the callback of jax.debug.inspect_array_sharding: ", args.error));
  if (args.free_error != nullptr) args.free_error(&args);
  return status;
}

absl::Status Visit(Computation& computation, bool is_manual) {
  for (Instruction* instruction : computation.instructions()) {
    for (Computation* callee : instruction->called()) {
      SHOAL_RETURN_IF_ERROR(Visit(*callee, is_manual || instruction->opcode() == Opcode::kManualComputation));
    }
    if (instruction->opcode() != Opcode::kCustomCall ||
        instruction->attributes<CustomCallAttributes>().target != "InspectSharding") {
      continue;
    }
    OpSharding sharding;
    if (is_manual) {
      sharding.type = OpSharding::Type::kManual;
    } else if (!instruction->operand(0)->shardings().empty()) {
      sharding = ToOpSharding(instruction->operand(0)->shardings()[0]);
    }
    SHOAL_RETURN_IF_ERROR(CallBack(*instruction, sharding));
    instruction->ReplaceAllUsesWith(instruction->operand(0));
    computation.Remove(instruction);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InspectShardings(Module& module) { return Visit(*module.entry(), /*is_manual=*/false); }

}  // namespace shoal
