#include "sharding/rules/custom_partitioner.h"

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/hlo/user_sharding_rule.h"
#include "sharding/spec/gspmd.h"
#include "sharding/spec/rebase.h"

namespace shoal {
namespace {

struct Registry {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, std::shared_ptr<const CustomPartitioner>> by_target ABSL_GUARDED_BY(mutex);
};

// Never destroyed: a program may be compiled until the very end.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

PlacedArray PlaceOne(const Instruction* instruction,
                     const std::function<Sharding(const Instruction*, int64_t leaf)>& sharding_of) {
  PlacedArray array;
  array.shape = instruction->shape();
  if (!array.shape.IsTuple()) {
    array.sharding = ToOpSharding(sharding_of(instruction, 0));
    return array;
  }
  array.sharding.type = OpSharding::Type::kTuple;
  for (size_t leaf = 0; leaf < array.shape.Leaves().size(); ++leaf) {
    array.sharding.elements.push_back(ToOpSharding(sharding_of(instruction, static_cast<int64_t>(leaf))));
  }
  return array;
}

}  // namespace

PlacedCall Place(const Instruction& call,
                 const std::function<Sharding(const Instruction*, int64_t leaf)>& sharding_of) {
  PlacedCall placed;
  placed.backend_config = ConfigWithoutRule(call.attributes<CustomCallAttributes>());
  for (const Instruction* operand : call.operands())
    placed.operands.push_back(PlaceOne(operand, sharding_of));
  placed.result = PlaceOne(&call, sharding_of);
  return placed;
}

absl::StatusOr<std::vector<Sharding>> ShardingsOver(const std::shared_ptr<const Mesh>& mesh,
                                                    const OpSharding& answer, const Shape& shape) {
  const std::vector<Shape> leaves = shape.Leaves();
  const bool is_tuple = answer.type == OpSharding::Type::kTuple;
  if (is_tuple && answer.elements.size() != leaves.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its partitioner gives ", answer.elements.size(), " shardings for ", shape.ToString()));
  }
  std::vector<Sharding> shardings;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const OpSharding& one = is_tuple ? answer.elements[i] : answer;
    SHOAL_ASSIGN_OR_RETURN(Sharding there, FromOpSharding(one, leaves[i].rank()));
    std::optional<Sharding> here = Rebase(there, mesh);
    if (!here) {
      return absl::UnimplementedError(
          absl::StrCat("its partitioner wants ", ToGspmdText(one), " of ", leaves[i].ToString(),
                       ", which is no sharding over the program's ", ToString(*mesh)));
    }
    shardings.push_back(std::move(*here));
  }
  return shardings;
}

void RegisterCustomPartitioner(absl::string_view target,
                               std::shared_ptr<const CustomPartitioner> partitioner) {
  Registry& registry = TheRegistry();
  {
    absl::MutexLock lock(&registry.mutex);
    registry.by_target[std::string(target)].swap(partitioner);
  }
  // The earlier one goes here, without the lock: it may have to wait for Python's.
}

std::shared_ptr<const CustomPartitioner> FindCustomPartitioner(absl::string_view target) {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  const auto it = registry.by_target.find(target);
  return it == registry.by_target.end() ? nullptr : it->second;
}

}  // namespace shoal
