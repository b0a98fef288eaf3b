#include "sharding/propagate/program_mesh.h"

namespace shoal {
namespace {

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

std::shared_ptr<const Mesh> ProgramMesh(const Module& module) {
  Search search(module.config().num_partitions);
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kManualComputation) continue;
      search.Offer(instruction->attributes<ManualAttributes>().in_shardings);
      search.Offer(instruction->attributes<ManualAttributes>().out_shardings);
    }
  }
  for (const Instruction* parameter : module.entry()->parameters()) search.Offer(parameter->shardings());
  search.Offer(module.config().result_shardings);
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) search.Offer(instruction->shardings());
  }
  if (search.found() != nullptr) return search.found();
  return std::make_shared<const Mesh>(Mesh{"devices", {{"devices", module.config().num_partitions}}, {}});
}

}  // namespace shoal
