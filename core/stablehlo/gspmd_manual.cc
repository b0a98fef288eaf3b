#include "core/stablehlo/gspmd_manual.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/hlo/sharding_group.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/gspmd_outline.h"
#include "core/stablehlo/import_sharding.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// "unspecified_dims=[0,1]" names dimensions that may be split further.
void OpenUnspecified(absl::string_view config, Sharding& sharding) {
  constexpr absl::string_view kList = "unspecified_dims=[";
  const size_t list = config.find(kList);
  if (list == absl::string_view::npos) return;
  const absl::string_view rest = config.substr(list + kList.size());
  for (absl::string_view word : absl::StrSplit(rest.substr(0, rest.find(']')), ',')) {
    int64_t dim = 0;
    if (absl::SimpleAtoi(word, &dim) && dim >= 0 && dim < static_cast<int64_t>(sharding.dims.size())) {
      sharding.dims[dim].open = true;
    }
  }
}

// "{unknown shard_as 3}": the group, or an empty string.
std::string ShardGroup(absl::string_view text) {
  for (absl::string_view word : {"shard_as ", "shard_like "}) {
    const size_t found = text.find(word);
    if (found == absl::string_view::npos) continue;
    const absl::string_view number = text.substr(found + word.size());
    return std::string(number.substr(0, number.find_first_not_of("0123456789")));
  }
  return "";
}

// Text and configuration of a border, as ImportGspmdBorder has kept them.
std::pair<absl::string_view, absl::string_view> BorderText(const Instruction& border) {
  const absl::string_view both = border.attributes<CustomCallAttributes>().backend_config;
  const size_t end = both.find('\n');
  return {both.substr(0, end), both.substr(end + 1)};
}

// The calls that bring `value` out of its region, directly or by way of a constraint.
void AddExits(Instruction* value, std::vector<Instruction*>& exits) {
  for (Instruction* user : value->users()) {
    if (IsCallOf(*user, kShardToFullTarget)) exits.push_back(user);
    if (user->opcode() == Opcode::kShardingConstraint) AddExits(user, exits);
  }
}

// One call of a region's function, and what stands around it.
class RegionCall {
 public:
  explicit RegionCall(Instruction* call) : call_(call), computation_(*call->parent()) {
    results_.resize(call->shape().IsTuple() ? call->shape().elements().size() : 1);
    if (!call->shape().IsTuple()) {
      results_[0].values.push_back(call);
    } else {
      for (Instruction* user : call->users()) {
        if (user->opcode() == Opcode::kGetTupleElement) results_[user->tuple_index()].values.push_back(user);
      }
    }
    for (Result& result : results_) {
      for (Instruction* value : result.values) AddExits(value, result.exits);
    }
  }

  bool IsManual() const {
    const auto operands = call_->operands();
    return std::any_of(operands.begin(), operands.end(),
                       [](const Instruction* o) { return IsCallOf(*o, kFullToShardTarget); }) ||
           std::any_of(results_.begin(), results_.end(), [](const Result& r) { return !r.exits.empty(); });
  }

  absl::Status Replace() {
    SHOAL_RETURN_IF_ERROR(FindMesh());
    for (Instruction* operand : call_->operands()) SHOAL_RETURN_IF_ERROR(AddOperand(operand));
    std::vector<Shape> shapes;
    for (size_t i = 0; i < results_.size(); ++i) {
      SHOAL_ASSIGN_OR_RETURN(shapes.emplace_back(), AddResult(static_cast<int64_t>(i)));
    }
    if (attributes_.manual_axes.empty()) {
      for (const MeshAxis& axis : mesh_->axes) attributes_.manual_axes.push_back(axis.name);
    }
    const bool is_tuple = call_->shape().IsTuple();
    Instruction* region =
        computation_.Add(Opcode::kManualComputation, is_tuple ? Shape::Tuple(shapes) : shapes[0], operands_,
                         std::move(attributes_), {call_->called(0)});
    region->set_op_name(call_->op_name());
    for (size_t i = 0; i < results_.size(); ++i) {
      Instruction* value =
          is_tuple ? computation_.AddGetTupleElement(region, static_cast<int64_t>(i)) : region;
      if (results_[i].exits.empty()) {
        for (Instruction* old : results_[i].values) old->ReplaceAllUsesWith(value);
      } else {
        for (Instruction* exit : results_[i].exits) exit->ReplaceAllUsesWith(value);
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Result {
    std::vector<Instruction*> values;  // the call's result, or its elements of this number
    std::vector<Instruction*> exits;
  };

  int64_t partitions() const { return computation_.parent()->config().num_partitions; }

  void OfferMesh(const Instruction& instruction) {
    const Sharding* sharding = instruction.sharding();
    if (mesh_ == nullptr && sharding != nullptr && sharding->mesh != nullptr &&
        !sharding->mesh->axes.empty()) {
      mesh_ = sharding->mesh;
    }
  }

  absl::Status FindMesh() {
    for (const Instruction* operand : call_->operands()) {
      if (IsCallOf(*operand, kFullToShardTarget)) OfferMesh(*operand->operand(0));
    }
    for (const Result& result : results_) {
      for (const Instruction* exit : result.exits) OfferMesh(*exit);
    }
    if (mesh_ != nullptr) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(
        std::vector<Sharding> whole,
        ParseGspmdShardings("{replicated}", Shape::Scalar(ElementType::kPred), partitions()));
    mesh_ = whole[0].mesh;
    return absl::OkStatus();
  }

  Sharding Whole(const Shape& shape) const {
    Sharding sharding;
    sharding.mesh = mesh_;
    if (shape.IsArray()) sharding.dims.resize(static_cast<size_t>(shape.rank()));
    return sharding;
  }

  absl::Status AddOperand(Instruction* operand) {
    if (!IsCallOf(*operand, kFullToShardTarget)) {
      operands_.push_back(operand);
      attributes_.in_shardings.push_back(Whole(operand->shape()));
      return absl::OkStatus();
    }
    Instruction* whole = operand->operand(0);
    const auto [text, config] = BorderText(*operand);
    SHOAL_ASSIGN_OR_RETURN(std::vector<std::string> manual,
                           GspmdManualAxes(text, operand->shape(), partitions()));
    for (std::string& axis : manual) {
      if (mesh_->AxisIndex(axis) < 0) {
        return absl::UnimplementedError(
            absl::StrCat("a region that is manual along ", text, ", in a program over ", ToString(*mesh_)));
      }
      std::vector<std::string>& all = attributes_.manual_axes;
      if (std::find(all.begin(), all.end(), axis) == all.end()) all.push_back(std::move(axis));
    }
    operands_.push_back(whole);
    Sharding sharding = whole->sharding() == nullptr || whole->sharding()->mesh == nullptr
                            ? Whole(whole->shape())
                            : *whole->sharding();
    OpenUnspecified(config, sharding);
    attributes_.in_shardings.push_back(std::move(sharding));
    return absl::OkStatus();
  }

  absl::StatusOr<Shape> AddResult(int64_t i) {
    const Result& result = results_[i];
    if (result.exits.empty()) {
      Shape local = call_->shape().IsTuple() ? call_->shape().elements()[i] : call_->shape();
      attributes_.out_shardings.push_back(Whole(local));
      return local;
    }
    const Instruction& exit = *result.exits[0];
    for (const Instruction* other : result.exits) {
      if (other->shape() != exit.shape()) {
        return absl::UnimplementedError(absl::StrCat("a result of a manual region that becomes both ",
                                                     exit.shape().ToString(), " and ",
                                                     other->shape().ToString()));
      }
    }
    Sharding sharding = exit.sharding() == nullptr || exit.sharding()->mesh == nullptr ? Whole(exit.shape())
                                                                                       : *exit.sharding();
    OpenUnspecified(BorderText(exit).second, sharding);
    attributes_.out_shardings.push_back(std::move(sharding));
    return exit.shape();
  }

  Instruction* const call_;
  Computation& computation_;
  std::shared_ptr<const Mesh> mesh_;
  std::vector<Result> results_;
  std::vector<Instruction*> operands_;
  ManualAttributes attributes_;
};

// The calls that have become regions, and what stood around them.
void DropUnused(Computation& computation, const absl::flat_hash_set<const Instruction*>& replaced) {
  const std::vector<Instruction*> instructions = computation.instructions();
  for (auto it = instructions.rbegin(); it != instructions.rend(); ++it) {
    Instruction* instruction = *it;
    const bool is_border =
        IsCallOf(*instruction, kFullToShardTarget) || IsCallOf(*instruction, kShardToFullTarget);
    const Opcode opcode = instruction->opcode();
    if (!instruction->users().empty() || instruction == computation.root()) continue;
    if (is_border || replaced.contains(instruction) || opcode == Opcode::kShardingConstraint ||
        opcode == Opcode::kGetTupleElement) {
      computation.Remove(instruction);
    }
  }
}

// Calls between borders become manual computations.
absl::Status ReplaceCalls(Computation& computation) {
  absl::flat_hash_set<const Instruction*> replaced;
  for (Instruction* instruction : computation.instructions()) {
    if (instruction->opcode() != Opcode::kCall) continue;
    RegionCall call(instruction);
    if (!call.IsManual()) continue;
    SHOAL_RETURN_IF_ERROR(call.Replace());
    replaced.insert(instruction);
  }
  if (replaced.empty()) return absl::OkStatus();
  DropUnused(computation, replaced);
  if (computation.SortTopologically()) return absl::OkStatus();
  return absl::InternalError("a cycle around a manual region");
}

}  // namespace

absl::Status ImportGspmdConstraint(OpImporter& c, absl::string_view config) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  const MlirAttribute* text = c.Find("mhlo.sharding");
  if (text == nullptr && c.Find("sdy.sharding") == nullptr) return c.Alias(c.operand(0));
  if (text != nullptr) {
    const std::string group = ShardGroup(text->text);
    if (!group.empty() && c.module().config().num_partitions > 1) {
      CustomCallAttributes attributes;
      attributes.target = kShardingGroupTarget;
      attributes.backend_config = group;
      attributes.has_side_effect = true;
      c.Add(Opcode::kCustomCall, Shape::Tuple({}), c.operands(), std::move(attributes));
    }
    SHOAL_ASSIGN_OR_RETURN(
        std::vector<Sharding> said,
        ParseGspmdShardings(text->text, c.operand_shape(0), c.module().config().num_partitions));
    if (said.size() == 1 && said[0].mesh == nullptr) return c.Alias(c.operand(0));
  }
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  Instruction* constraint = c.Add(Opcode::kShardingConstraint, std::move(shape), c.operands());
  SHOAL_RETURN_IF_ERROR(c.Finish(constraint));
  if (constraint->sharding() == nullptr) return absl::OkStatus();
  Sharding sharding = *constraint->sharding();
  OpenUnspecified(config, sharding);
  constraint->set_sharding(std::move(sharding));
  return absl::OkStatus();
}

absl::Status ImportGspmdBorder(OpImporter& c, absl::string_view config) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  const MlirAttribute* text = c.Find("mhlo.sharding");
  if (text == nullptr) return c.Error("the attribute mhlo.sharding is missing");
  CustomCallAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(absl::string_view target, c.Text("call_target_name"));
  attributes.target = std::string(target);
  SHOAL_ASSIGN_OR_RETURN(const std::string string, GspmdText(text->text));
  attributes.backend_config = absl::StrCat(string, "\n", config);
  return c.Emit(Opcode::kCustomCall, c.operands(), std::move(attributes));
}

absl::Status FormManualRegions(Module& module) {
  for (Computation* computation : module.computations()) {
    SHOAL_RETURN_IF_ERROR(ReplaceCalls(*computation));
    SHOAL_RETURN_IF_ERROR(OutlineManualRegions(*computation));
    SHOAL_RETURN_IF_ERROR(ReplaceCalls(*computation));
  }
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (IsCallOf(*instruction, kFullToShardTarget) || IsCallOf(*instruction, kShardToFullTarget)) {
        return absl::UnimplementedError(
            absl::StrCat(instruction->name(), ": ", instruction->attributes<CustomCallAttributes>().target,
                         " without another side; use Shardy (jax_use_shardy_partitioner)"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal
