#include "core/hlo/verifier.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/attribute_text.h"

namespace shoal {
namespace {

absl::Status Bad(const Instruction& instruction, absl::string_view what) {
  return absl::InternalError(absl::StrCat(instruction.ToString(), ": ", what));
}

struct CallCount {
  int least = 0, most = 0;
};

CallCount CallCountOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
    case Opcode::kSelectAndScatter:
      return {2, 2};
    case Opcode::kConditional:
      return {1, 1 << 20};
    case Opcode::kCustomCall:
      return {0, 1 << 20};
    default:
      return CallsComputations(opcode) ? CallCount{1, 1} : CallCount{0, 0};
  }
}

absl::Status CheckShardings(const Instruction& instruction) {
  const auto& shardings = instruction.shardings();
  if (shardings.empty()) return absl::OkStatus();
  const std::vector<Shape> leaves = instruction.shape().Leaves();
  // A call for its effect says where it runs.
  if (leaves.empty() && instruction.opcode() == Opcode::kCustomCall) return absl::OkStatus();
  if (shardings.size() != leaves.size())
    return Bad(instruction, absl::StrCat(shardings.size(), " shardings for ", leaves.size(), " results"));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (shardings[i].mesh == nullptr || shardings[i].mesh->IsMaximal()) continue;
    if (static_cast<int64_t>(shardings[i].dims.size()) != leaves[i].rank())
      return Bad(instruction,
                 absl::StrCat("sharding ", ToString(shardings[i]), " is not for ", leaves[i].ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckOrder(const Instruction& instruction,
                        const absl::flat_hash_set<const Instruction*>& before) {
  for (const Instruction* operand : instruction.operands()) {
    if (!before.contains(operand))
      return Bad(instruction, "an operand does not stand before it in its computation");
  }
  return absl::OkStatus();
}

// Operands and users say the same. By sets: a result may have ten thousand operands, a constant as many
// users.
absl::Status CheckUses(const Computation& computation) {
  absl::flat_hash_set<std::pair<const Instruction*, const Instruction*>> uses;  // operand, user
  for (const Instruction* instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands()) uses.emplace(operand, instruction);
  }
  for (const Instruction* instruction : computation.instructions()) {
    for (const Instruction* user : instruction->users()) {
      if (user->parent() != &computation) return Bad(*instruction, "has a user in another computation");
      if (uses.erase({instruction, user}) == 0)
        return Bad(*instruction, absl::StrCat("its user %", user->name(), " does not use it"));
    }
  }
  if (uses.empty()) return absl::OkStatus();
  const auto [operand, user] = *uses.begin();
  return Bad(*user, absl::StrCat("is not among the users of %", operand->name()));
}

absl::Status CheckKind(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const int arity = OpcodeArity(opcode);
  if (arity >= 0 && instruction.operand_count() != arity)
    return Bad(instruction, absl::StrCat("wants ", arity, " operands, has ", instruction.operand_count()));
  if (instruction.attributes().index() != AttributeKind(opcode))
    return Bad(instruction, "has attributes of another operation");
  const CallCount calls = CallCountOf(opcode);
  const int called = static_cast<int>(instruction.called().size());
  if (called < calls.least || called > calls.most)
    return Bad(instruction, absl::StrCat("calls ", called, " computations"));
  return CheckShardings(instruction);
}

absl::Status CheckParameters(const Computation& computation) {
  for (int64_t i = 0; i < static_cast<int64_t>(computation.parameters().size()); ++i) {
    const Instruction* parameter = computation.parameter(i);
    if (parameter == nullptr)
      return absl::InternalError(absl::StrCat("%", computation.name(), " has no parameter ", i));
    if (parameter->parent() != &computation || parameter->opcode() != Opcode::kParameter ||
        parameter->parameter_number() != i)
      return Bad(*parameter, absl::StrCat("stands as parameter ", i));
  }
  return absl::OkStatus();
}

absl::Status CheckComputation(const Module& module, const Computation& computation) {
  if (computation.parent() != &module) return absl::InternalError("a computation is not of its module");
  if (computation.root() == nullptr)
    return absl::InternalError(absl::StrCat("%", computation.name(), " has no root"));
  SHOAL_RETURN_IF_ERROR(CheckParameters(computation));
  absl::flat_hash_set<const Instruction*> before;
  int64_t parameters = 0;
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->parent() != &computation) return Bad(*instruction, "has another parent");
    parameters += instruction->opcode() == Opcode::kParameter;
    SHOAL_RETURN_IF_ERROR(CheckKind(*instruction));
    SHOAL_RETURN_IF_ERROR(CheckOrder(*instruction, before));
    before.insert(instruction);
  }
  if (parameters != static_cast<int64_t>(computation.parameters().size()))
    return absl::InternalError(absl::StrCat("%", computation.name(), " has two parameters of one number"));
  if (!before.contains(computation.root()))
    return Bad(*computation.root(), "is a root of another computation");
  return CheckUses(computation);
}

// How deep the calls below each computation go, worked out callees first, without recursion.
class CallDepths {
 public:
  absl::Status Visit(const Computation* from) {
    std::vector<const Computation*> stack = {from};
    while (!stack.empty()) {
      const Computation* top = stack.back();
      int& depth = depths_.try_emplace(top, kNew).first->second;
      if (depth == kNew) {
        depth = kOpen;
        SHOAL_RETURN_IF_ERROR(PushCallees(*top, stack));
      } else {
        stack.pop_back();
        if (depth == kOpen) SHOAL_RETURN_IF_ERROR(Close(*top));
      }
    }
    return absl::OkStatus();
  }

 private:
  enum : int { kNew = -2, kOpen = -1 };

  absl::Status PushCallees(const Computation& computation, std::vector<const Computation*>& stack) {
    for (const Instruction* instruction : computation.instructions()) {
      for (const Computation* callee : instruction->called()) {
        auto it = depths_.find(callee);
        if (it == depths_.end()) {
          stack.push_back(callee);
        } else if (it->second == kOpen) {
          return Bad(*instruction, "is part of a circle of calls");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Close(const Computation& computation) {
    int depth = 0;
    for (const Instruction* instruction : computation.instructions()) {
      for (const Computation* callee : instruction->called()) depth = std::max(depth, depths_.at(callee) + 1);
    }
    depths_[&computation] = depth;
    if (depth <= kMaxCallDepth) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("%", computation.name(), " has calls nested deeper than ", kMaxCallDepth));
  }

  absl::flat_hash_map<const Computation*, int> depths_;
};

absl::Status CheckConfig(const Module& module) {
  const ModuleConfig& config = module.config();
  const int64_t parameters = static_cast<int64_t>(module.entry()->parameters().size());
  const int64_t results = static_cast<int64_t>(module.entry()->root()->shape().Leaves().size());
  const auto bad = [&](absl::string_view what, int64_t index, int64_t count) {
    return absl::InternalError(
        absl::StrCat("module ", module.name(), ": ", what, " ", index, " is not one of ", count));
  };
  for (const auto& [result, parameter] : config.aliases) {
    if (result < 0 || result >= results) return bad("aliased result", result, results);
    if (parameter < 0 || parameter >= parameters) return bad("aliased parameter", parameter, parameters);
  }
  for (int64_t donor : config.donors) {
    if (donor < 0 || donor >= parameters) return bad("donor", donor, parameters);
  }
  if (config.num_partitions < 1) return bad("partition count", config.num_partitions, 1);
  return absl::OkStatus();
}

absl::Status CheckCalls(const Module& module) {
  const std::vector<Computation*> computations = module.computations();
  const absl::flat_hash_set<const Computation*> own(computations.begin(), computations.end());
  absl::flat_hash_map<const Computation*, bool> by_fusion;
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called()) {
        if (!own.contains(callee)) return Bad(*instruction, "calls a computation of another module");
        if (callee == module.entry()) return Bad(*instruction, "calls the entry");
        const bool is_fusion = instruction->opcode() == Opcode::kFusion;
        if (by_fusion.try_emplace(callee, is_fusion).first->second != is_fusion)
          return Bad(*instruction, absl::StrCat("%", callee->name(), " is a fusion's and somebody else's"));
      }
    }
  }
  CallDepths depths;
  for (const Computation* computation : computations) SHOAL_RETURN_IF_ERROR(depths.Visit(computation));
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyStructure(const Module& module) {
  if (module.entry() == nullptr)
    return absl::InternalError(absl::StrCat("module ", module.name(), " has no entry"));
  for (const Computation* computation : module.computations())
    SHOAL_RETURN_IF_ERROR(CheckComputation(module, *computation));
  SHOAL_RETURN_IF_ERROR(CheckConfig(module));
  return CheckCalls(module);
}

}  // namespace shoal
