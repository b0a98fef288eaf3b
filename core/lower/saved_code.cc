#include "core/lower/saved_code.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/build_id.h"
#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "core/codegen/module_builder.h"
#include "core/jit/cpu.h"
#include "core/lower/saved_code.pb.h"

namespace shoal {
namespace {

void Save(const LoadedKernel& kernel, wire::SavedObject& object) {
  wire::SavedKernel& saved = *object.add_kernels();
  saved.set_key(kernel.key);
  saved.set_scratch_bytes(kernel.kernel.scratch_bytes);
  for (const KernelPhase& phase : kernel.kernel.phases) {
    wire::SavedPhase& to = *saved.add_phases();
    to.set_function(phase.function);
    to.set_units(phase.units);
    to.set_grain(phase.grain);
    to.set_cost_ns(phase.cost_ns);
  }
}

Kernel KernelOf(const wire::SavedKernel& saved) {
  Kernel kernel;
  kernel.scratch_bytes = saved.scratch_bytes();
  for (const wire::SavedPhase& phase : saved.phases()) {
    KernelPhase& to = kernel.phases.emplace_back();
    to.function = phase.function();
    to.units = phase.units();
    to.grain = phase.grain();
    to.cost_ns = phase.cost_ns();
  }
  return kernel;
}

bool IsNative(const Kernel& kernel) {
  for (const KernelPhase& phase : kernel.phases) {
    if (phase.routine != nullptr) return false;
  }
  return true;
}

// `known` are the kernels of the objects before.
absl::Status Restore(const wire::SavedObject& saved, KernelCache& cache, std::vector<KernelHandle>& known) {
  if (Fingerprint(saved.object()) != saved.checksum()) {
    return absl::InvalidArgumentError("saved code is damaged: the checksum of an object file does not fit");
  }
  if (saved.kernels_size() > 0) {
    std::vector<std::shared_ptr<LoadedKernel>> kernels;
    for (const wire::SavedKernel& kernel : saved.kernels()) {
      kernels.push_back(
          std::make_shared<LoadedKernel>(LoadedKernel{kernel.key(), KernelOf(kernel), nullptr}));
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<KernelHandle> loaded,
                           cache.InsertKernels(saved.object(), std::move(kernels)));
    known.insert(known.end(), loaded.begin(), loaded.end());
  }
  if (saved.control_keys_size() == 0) return absl::OkStatus();
  const std::vector<std::string> keys(saved.control_keys().begin(), saved.control_keys().end());
  return cache.InsertControls(saved.object(), keys, known);
}

}  // namespace

std::string SaveCode(const ProgramCode& code) {
  wire::SavedCode saved;
  saved.set_build(std::string(BuildId()));
  saved.set_cpu(CpuFingerprint());
  absl::flat_hash_map<const NativeCode*, wire::SavedObject*> objects;
  const auto object_of = [&](const NativeCode& native) -> wire::SavedObject& {
    wire::SavedObject*& object = objects[&native];
    if (object == nullptr) {
      object = saved.add_objects();
      object->set_object(native.object());
      object->set_checksum(Fingerprint(native.object()));
    }
    return *object;
  };
  for (const KernelHandle& kernel : code.kernels) {
    if (IsNative(kernel->kernel)) Save(*kernel, object_of(*kernel->code));
  }
  for (const ControlHandle& control : code.controls) {
    if (control->routines.empty()) object_of(*control->code).add_control_keys(control->key);
  }
  return saved.SerializeAsString();
}

absl::Status RestoreCode(absl::string_view bytes, KernelCache& cache) {
  wire::SavedCode saved;
  if (!saved.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("saved code is damaged: its protocol buffer does not parse");
  }
  if (saved.build().empty() || saved.build() != BuildId()) {
    return absl::FailedPreconditionError(
        absl::StrCat("saved code is of build '", saved.build(), "', this is '", BuildId(), "'"));
  }
  if (saved.cpu() != CpuFingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat("saved code is for ", saved.cpu(), ", this CPU is ", CpuFingerprint()));
  }
  std::vector<KernelHandle> known;
  for (const wire::SavedObject& object : saved.objects()) {
    SHOAL_RETURN_IF_ERROR(Restore(object, cache, known));
  }
  return absl::OkStatus();
}

}  // namespace shoal
