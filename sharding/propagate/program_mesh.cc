#include "sharding/propagate/program_mesh.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

using Visitor = std::function<void(const std::vector<Sharding>&)>;

void VisitManualRegions(const Module& module, const Visitor& visit) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kManualComputation) continue;
      visit(instruction->attributes<ManualAttributes>().in_shardings);
      visit(instruction->attributes<ManualAttributes>().out_shardings);
    }
  }
}

void VisitValues(const Module& module, const Visitor& visit) {
  for (const Instruction* parameter : module.entry()->parameters()) visit(parameter->shardings());
  visit(module.config().result_shardings);
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) visit(instruction->shardings());
  }
}

absl::Status Check(const Mesh& mesh, int64_t partitions) {
  std::vector<int64_t> ids = mesh.device_ids;
  std::sort(ids.begin(), ids.end());
  const bool twice = std::adjacent_find(ids.begin(), ids.end()) != ids.end();
  const bool beyond = ids.empty() ? mesh.device_count() > partitions : ids[0] < 0 || ids.back() >= partitions;
  if (!twice && !beyond) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a sharding over ", ToString(mesh), ", which has a device ",
                   twice ? "twice" : absl::StrCat("beyond the program's ", partitions, " partitions")));
}

class Search {
 public:
  explicit Search(int64_t devices) : devices_(devices) {}

  void Offer(const std::vector<Sharding>& shardings) {
    for (const Sharding& sharding : shardings) {
      if (found_ == nullptr && sharding.mesh != nullptr && !sharding.mesh->axes.empty() &&
          sharding.mesh->device_count() == devices_) {
        found_ = sharding.mesh;
      }
    }
  }
  const std::shared_ptr<const Mesh>& found() const { return found_; }

 private:
  int64_t devices_;
  std::shared_ptr<const Mesh> found_;
};

}  // namespace

absl::Status CheckMeshes(const Module& module) {
  absl::Status status;
  const Mesh* checked = nullptr;  // most arrays share one
  const Visitor check = [&](const std::vector<Sharding>& shardings) {
    for (const Sharding& sharding : shardings) {
      if (sharding.mesh == nullptr || sharding.mesh.get() == checked) continue;
      checked = sharding.mesh.get();
      status.Update(Check(*checked, module.config().num_partitions));
    }
  };
  VisitManualRegions(module, check);
  VisitValues(module, check);
  return status;
}

std::shared_ptr<const Mesh> ProgramMesh(const Module& module) {
  Search search(module.config().num_partitions);
  const Visitor offer = [&](const std::vector<Sharding>& shardings) { search.Offer(shardings); };
  VisitManualRegions(module, offer);
  VisitValues(module, offer);
  if (search.found() != nullptr) return search.found();
  return std::make_shared<const Mesh>(Mesh{"devices", {{"devices", module.config().num_partitions}}, {}});
}

}  // namespace shoal
