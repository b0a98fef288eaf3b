#include "sharding/partition/partition.h"

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/hlo/user_sharding_rule.h"
#include "core/passes/dce.h"
#include "sharding/partition/region.h"
#include "sharding/propagate/flatten.h"
#include "sharding/propagate/program_mesh.h"
#include "sharding/reshard/emit.h"

namespace shoal {
namespace {

bool IsOver(const Sharding& sharding, const Mesh& mesh) {
  return sharding.mesh == nullptr || sharding.mesh->IsMaximal() || *sharding.mesh == mesh;
}

bool HasShardingInstructions(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (FamilyOf(instruction->opcode()) == OpFamily::kShardingFamily) return true;
    }
  }
  return false;
}

void DropShardings(Module& module) {
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) instruction->clear_sharding();
  }
  module.config().result_shardings.clear();
}

// Sharding rules have been read; callees get their configuration as it was.
void DropRules(Module& module) {
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      CustomCallAttributes call = instruction->attributes<CustomCallAttributes>();
      const absl::string_view config = ConfigWithoutRule(call);
      if (config.size() == call.backend_config.size()) continue;
      call.backend_config.resize(config.size());
      instruction->set_attributes(std::move(call));
    }
  }
}

class EntryPartitioner {
 public:
  EntryPartitioner(Module& module, std::shared_ptr<const Mesh> mesh)
      : module_(module),
        context_(module, std::move(mesh)),
        old_(*module.entry()),
        computation_(module.AddComputation(old_.name())),
        builder_(context_, computation_),
        region_(context_, builder_, {}) {}

  absl::Status Run() {
    for (const Instruction* parameter : old_.parameters()) AddParameter(parameter);
    SHOAL_RETURN_IF_ERROR(region_.Run(old_));
    AddResults();
    module_.set_entry(computation_);
    module_.RemoveUnreachableComputations();
    module_.SortComputations();
    // What was made for uses that then went another way.
    for (Computation* computation : module_.computations()) RemoveDeadInstructions(*computation);
    if (!computation_->SortTopologically()) return absl::InternalError("a cycle after partitioning");
    return absl::OkStatus();
  }

 private:
  // Parameters come as their own sharding says, over whichever mesh that is.
  void AddParameter(const Instruction* old) {
    const std::vector<Shape> shapes = old->shape().Leaves();
    std::vector<Layout> layouts;
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      layouts.push_back(region_.WantedLayout(old, static_cast<int64_t>(leaf)));
    }
    Instruction* local = computation_->AddParameter(old->parameter_number(),
                                                    Region::LocalTree(old->shape(), layouts), old->name());
    local->set_op_name(old->op_name());
    local->set_shardings(old->shardings());
    const std::vector<Instruction*> leaves = region_.Explode(local);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const auto l = static_cast<int64_t>(leaf);
      if (leaf >= old->shardings().size() || IsOver(old->shardings()[leaf], context_.mesh())) {
        region_.SetLeaf(old, l, leaves[leaf], layouts[leaf]);
        continue;
      }
      const Layout whole = Layout::Replicated(shapes[leaf].rank());
      Instruction* here =
          EmitBetweenMeshes(builder_, leaves[leaf], shapes[leaf], *old->shardings()[leaf].mesh, layouts[leaf],
                            context_.mesh(), whole);
      region_.SetLeaf(old, l, here, whole);
    }
  }

  void AddResults() {
    const Instruction* root = old_.root();
    const std::vector<Shape> shapes = root->shape().Leaves();
    std::vector<Sharding>& shardings = module_.config().result_shardings;
    shardings.resize(shapes.size());
    std::vector<Instruction*> results;
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      const auto l = static_cast<int64_t>(leaf);
      const Layout wanted = LayoutOf(shardings[leaf], shapes[leaf].rank());
      if (IsOver(shardings[leaf], context_.mesh())) {
        results.push_back(region_.Get(root, l, wanted));
        continue;
      }
      results.push_back(EmitBetweenMeshes(builder_, region_.GetWhole(root, l), shapes[leaf], context_.mesh(),
                                          Layout::Replicated(shapes[leaf].rank()), *shardings[leaf].mesh,
                                          wanted));
    }
    computation_->set_root(region_.Assemble(root->shape(), results));
  }

  Module& module_;
  SpmdContext context_;
  const Computation& old_;
  Computation* computation_;
  LocalBuilder builder_;
  Region region_;
};

}  // namespace

absl::Status Partition(Module& module) {
  if (module.config().num_partitions == 1) {
    if (!HasShardingInstructions(module)) {
      DropRules(module);
      DropShardings(module);
      return absl::OkStatus();
    }
    SHOAL_RETURN_IF_ERROR(FlattenCalls(module));
  }
  SHOAL_RETURN_IF_ERROR(EntryPartitioner(module, ProgramMesh(module)).Run());
  DropRules(module);
  return absl::OkStatus();
}

}  // namespace shoal
