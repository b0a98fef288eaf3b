#include "sharding/propagate/propagate.h"

#include <algorithm>
#include <deque>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/sharding_group.h"
#include "sharding/mesh/axes.h"
#include "sharding/propagate/flatten.h"
#include "sharding/propagate/link.h"
#include "sharding/propagate/program_mesh.h"
#include "sharding/propagate/value_table.h"
#include "sharding/rules/custom_partitioner.h"
#include "sharding/spec/layout.h"
#include "sharding/spec/manual_axes.h"
#include "sharding/spec/rebase.h"

namespace shoal {
namespace {

bool Chooses(const std::vector<bool>& choose, size_t i) {
  if (choose.empty()) return false;
  return choose.size() == 1 ? choose[0] : i < choose.size() && choose[i];
}

bool HasOpenDim(const Sharding& sharding) {
  return std::any_of(sharding.dims.begin(), sharding.dims.end(), [](const DimSharding& d) { return d.open; });
}

// Constants, iota, and scalars made larger.
bool IsRematerialized(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kIota:
      return instruction.shardings().empty();
    case Opcode::kBroadcast:
      return instruction.operand(0)->shape().rank() == 0 && instruction.shardings().empty();
    default:
      return false;
  }
}

bool IsOnOneDevice(const Instruction& instruction) {
  const auto& shardings = instruction.shardings();
  return std::any_of(shardings.begin(), shardings.end(),
                     [](const Sharding& s) { return s.mesh != nullptr && s.mesh->IsMaximal(); });
}

class Propagation {
 public:
  Propagation(Module& module, const PropagationOptions& options)
      : module_(module), options_(options), mesh_(ProgramMesh(module)), table_(module) {
    for (int v = 0; v < table_.size(); ++v) {
      states_.push_back(OpenState(table_.shape(v)));
      annotated_.push_back(false);
    }
  }

  absl::Status Run() {
    SHOAL_RETURN_IF_ERROR(AddBorders());
    SHOAL_RETURN_IF_ERROR(AddComputation(module_.entry(), {}));
    ApplyConstraintsToOperands();
    IndexLinks();
    for (int priority : priorities_) {
      Reveal(priority);
      RunLevels();
    }
    SHOAL_RETURN_IF_ERROR(AskOwners());
    WriteBack();
    return absl::OkStatus();
  }

 private:
  // What the user wrote of a dimension that has a priority above 0, until it is its turn.
  struct Hidden {
    int value;
    size_t dim;
    DimSharding written;
  };

  // --- Setting up ---

  int NewValue(const Shape& shape) {
    states_.push_back(OpenState(shape));
    annotated_.push_back(false);
    return table_.AddValue(shape);
  }

  // The first annotation of a value stands. False: it is over a mesh that does not fit this one.
  bool Annotate(int value, const Sharding& sharding) {
    if (annotated_[value]) return true;
    annotated_[value] = true;
    TensorState& state = states_[value];
    std::optional<Sharding> here = Rebase(sharding, mesh_);
    if (!here || here->dims.size() != state.dims.size()) {
      for (DimSharding& dim : state.dims) dim.open = false;
      return false;
    }
    for (size_t d = 0; d < state.dims.size(); ++d) {
      DimSharding written = here->dims[d];
      written.axes = Atoms(written.axes);
      priorities_.insert(written.priority);
      if (written.priority == 0) {
        state.dims[d] = written;
        continue;
      }
      // Until its turn nothing comes into the dimension, and its axes go nowhere else.
      state.dims[d] = {};
      state.unusable = Concat(state.unusable, written.axes);
      hidden_.push_back({value, d, written});
    }
    state.unusable = Concat(state.unusable, Concat(Atoms(here->replicated), Atoms(here->unreduced)));
    unreduced_[value] = Merged(Atoms(here->unreduced));
    return true;
  }

  void Close(int value) {
    if (annotated_[value]) return;
    annotated_[value] = true;
    for (DimSharding& dim : states_[value].dims) dim.open = false;
  }

  // Entry parameters and results.
  absl::Status AddBorders() {
    int64_t number = 0;
    for (Instruction* parameter : module_.entry()->parameters()) {
      const int64_t leaves = static_cast<int64_t>(parameter->shape().Leaves().size());
      const bool given = static_cast<int64_t>(parameter->shardings().size()) == leaves;
      for (int64_t leaf = 0; leaf < leaves; ++leaf) {
        const int value = table_.ValueOf(parameter, leaf);
        if (given) {
          if (HasOpenDim(parameter->shardings()[leaf])) chosen_.push_back(value);
          if (!Annotate(value, parameter->shardings()[leaf])) foreign_[parameter] = parameter->shardings();
        } else if (!Chooses(options_.choose_parameters, number)) {
          Close(value);
        } else {
          chosen_.push_back(value);
        }
      }
      ++number;
    }
    const Instruction* root = module_.entry()->root();
    const std::vector<Shape> leaves = root->shape().Leaves();
    const std::vector<Sharding>& written = module_.config().result_shardings;
    if (!written.empty() && written.size() != leaves.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(written.size(), " result shardings for ", leaves.size(), " results"));
    }
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const int value = NewValue(leaves[leaf]);
      results_.push_back(value);
      AddIdentity(table_.ValueOf(root, static_cast<int64_t>(leaf)), value);
      if (!written.empty() && written[leaf].mesh != nullptr) {
        if (HasOpenDim(written[leaf])) chosen_.push_back(value);
        foreign_result_.push_back(!Annotate(value, written[leaf]));
        continue;
      }
      foreign_result_.push_back(false);
      if (Chooses(options_.choose_results, leaf)) {
        chosen_.push_back(value);
      } else {
        Close(value);
      }
    }
    return absl::OkStatus();
  }

  void AddIdentity(int from, int to) {
    if (from == to) return;
    Link link;
    link.rule = IdentityRule(states_[from].shape);
    link.operands = {from};
    link.results = {to};
    links_.push_back(std::move(link));
  }

  absl::Status AddComputation(Computation* computation, const AxisList& manual) {
    for (Instruction* instruction : computation->instructions()) {
      const int64_t leaves = static_cast<int64_t>(instruction->shape().Leaves().size());
      for (int64_t leaf = 0; leaf < leaves; ++leaf) {
        const int value = table_.ValueOf(instruction, leaf);
        states_[value].unusable = Concat(Without(states_[value].unusable, manual), manual);
        states_[value].rematerialized |= IsRematerialized(*instruction);
      }
      const bool given = static_cast<int64_t>(instruction->shardings().size()) == leaves;
      for (int64_t leaf = 0; given && leaf < leaves; ++leaf) {
        Annotate(table_.ValueOf(instruction, leaf), instruction->shardings()[leaf]);
      }
      if (instruction->opcode() == Opcode::kManualComputation) {
        SHOAL_RETURN_IF_ERROR(AddManual(instruction, manual));
        continue;
      }
      if (IsShardingGroup(*instruction)) {
        SHOAL_RETURN_IF_ERROR(AddToGroup(*instruction));
        continue;
      }
      AddInstruction(instruction);
      for (Computation* callee : ProgramComputations(*instruction)) {
        SHOAL_RETURN_IF_ERROR(AddComputation(callee, manual));
      }
    }
    return absl::OkStatus();
  }

  // Members of a group give each other their axes, constants and iotas among them too.
  absl::Status AddToGroup(const Instruction& call) {
    const int value = table_.ValueOf(call.operand(0));
    const auto [first, is_first] =
        groups_.emplace(call.attributes<CustomCallAttributes>().backend_config, value);
    states_[value].rematerialized = false;
    if (is_first) return absl::OkStatus();
    if (states_[value].shape.dims() != states_[first->second].shape.dims()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sharding group ", first->first, " has arrays of different shapes: ",
                       states_[first->second].shape.ToString(), " and ", states_[value].shape.ToString()));
    }
    AddIdentity(first->second, value);
    return absl::OkStatus();
  }

  void AddInstruction(Instruction* instruction) {
    const auto leaves = static_cast<int64_t>(instruction->shape().Leaves().size());
    if (instruction->opcode() == Opcode::kWhile) {
      for (int64_t leaf = 0; leaf < leaves; ++leaf) {
        const int state = table_.ValueOf(instruction, leaf);
        AddIdentity(table_.ValueOf(instruction->operand(0), leaf), state);
        AddIdentity(table_.ValueOf(instruction->called(1)->root(), leaf), state);
      }
      return;
    }
    if (instruction->opcode() == Opcode::kConditional) {
      for (const Computation* branch : instruction->called()) {
        for (int64_t leaf = 0; leaf < leaves; ++leaf) {
          AddIdentity(table_.ValueOf(branch->root(), leaf), table_.ValueOf(instruction, leaf));
        }
      }
      return;
    }
    if (instruction->opcode() == Opcode::kCustomCall &&
        FindCustomPartitioner(instruction->attributes<CustomCallAttributes>().target) != nullptr) {
      owned_.push_back(instruction);
    }
    Link link;
    link.instruction = instruction;
    link.rule = RuleFor(*instruction);
    // A constraint is of use without factors, too: a scalar may be a partial sum.
    if (link.rule.factors.empty() && instruction->opcode() != Opcode::kShardingConstraint) return;
    for (const Instruction* operand : instruction->operands()) {
      for (size_t leaf = 0; leaf < operand->shape().Leaves().size(); ++leaf) {
        link.operands.push_back(table_.ValueOf(operand, static_cast<int64_t>(leaf)));
      }
    }
    for (int64_t leaf = 0; leaf < leaves; ++leaf) link.results.push_back(table_.ValueOf(instruction, leaf));
    links_.push_back(std::move(link));
  }

  // Operand -> in-sharding (a value of its own) -> border -> region parameter; and back out.
  absl::Status AddManual(Instruction* instruction, const AxisList& outer_manual) {
    const auto& attributes = instruction->attributes<ManualAttributes>();
    const absl::StatusOr<AxisList> own = ManualAxes(attributes, mesh_);
    if (!own.ok()) return ::shoal::Annotate(own.status(), instruction->name());
    Computation* region = instruction->called(0);
    const AxisList manual = Concat(outer_manual, Without(*own, outer_manual));
    manual_axes_[instruction] = *own;
    std::vector<int>& inputs = manual_inputs_[instruction];
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      const int input = NewValue(instruction->operand(i)->shape());
      inputs.push_back(input);
      AddIdentity(table_.ValueOf(instruction->operand(i)), input);
      SHOAL_RETURN_IF_ERROR(AddBorder(instruction, attributes.in_shardings[i], manual, input,
                                      table_.ValueOf(region->parameter(i))));
    }
    const int64_t leaves = static_cast<int64_t>(instruction->shape().Leaves().size());
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      SHOAL_RETURN_IF_ERROR(AddBorder(instruction, attributes.out_shardings[leaf], manual,
                                      table_.ValueOf(instruction, leaf),
                                      table_.ValueOf(region->root(), leaf)));
    }
    return AddComputation(region, manual);
  }

  absl::Status AddBorder(const Instruction* instruction, const Sharding& sharding, const AxisList& manual,
                         int outside, int inside) {
    annotated_[outside] = false;
    if (!Annotate(outside, sharding)) {
      return absl::UnimplementedError(absl::StrCat(instruction->name(), ": its sharding ", ToString(sharding),
                                                   " is over another mesh than the program's ",
                                                   ToString(*mesh_)));
    }
    TensorState& state = states_[outside];
    state.unusable = Concat(state.unusable, Without(manual, state.Taken()));
    Link link;
    link.is_manual_border = true;
    link.operands = {outside};
    link.results = {inside};
    TensorState& in = states_[inside];
    for (size_t d = 0; d < state.dims.size(); ++d) {
      size_t count = 0;
      const AxisList& axes = state.dims[d].axes;
      while (count < axes.size() && Overlaps(manual, axes[count])) ++count;
      link.manual_prefix.push_back(Prefix(axes, count));
      if (in.dims[d].axes.empty()) in.dims[d].axes = Suffix(axes, count);
      in.dims[d].open &= state.dims[d].open;
    }
    links_.push_back(std::move(link));
    return absl::OkStatus();
  }

  // A constraint fixes its operand too, if nothing else is said of that and no other constraint disagrees.
  void ApplyConstraintsToOperands() {
    std::vector<int> constraints(states_.size(), 0);
    for (const Link& link : links_) {
      if (IsConstraint(link)) ++constraints[link.operands[0]];
    }
    for (const Link& link : links_) {
      if (!IsConstraint(link)) continue;
      const int operand = link.operands[0];
      if (annotated_[operand] || constraints[operand] != 1 || states_[operand].rematerialized) continue;
      if (link.instruction->operand(0)->opcode() == Opcode::kParameter) continue;
      if (!Annotate(operand, link.instruction->shardings()[0])) annotated_[operand] = false;
    }
  }
  static bool IsConstraint(const Link& link) {
    return link.instruction != nullptr && link.instruction->opcode() == Opcode::kShardingConstraint &&
           link.instruction->shardings().size() == 1;
  }

  void IndexLinks() {
    users_.resize(states_.size());
    uses_.assign(states_.size(), 0);
    for (size_t l = 0; l < links_.size(); ++l) {
      for (int v : links_[l].operands) users_[v].push_back(static_cast<int>(l)), ++uses_[v];
      for (int v : links_[l].results) users_[v].push_back(static_cast<int>(l));
    }
    priorities_.insert(0);
  }

  // --- Running ---

  void RunLevels() {
    for (int level = 0; level < kPropagationLevels; ++level) {
      FixPoint(level, /*aggressive=*/false);
      FixPoint(level, /*aggressive=*/true);
    }
  }

  // GSPMD's way with custom calls that have a partitioner (with Shardy they have a rule): it infers what
  // nobody has asked of their results, and may take what somebody has asked for otherwise.
  absl::Status AskOwners() {
    if (mesh_->name != "gspmd") return absl::OkStatus();
    const auto sharding_of = [&](const Instruction* instruction, int64_t leaf) {
      return ShardingOf(table_.ValueOf(instruction, leaf));
    };
    for (const Instruction* call : owned_) {
      const auto owner = FindCustomPartitioner(call->attributes<CustomCallAttributes>().target);
      bool asked = false;
      for (int64_t leaf = 0; leaf < static_cast<int64_t>(call->shape().Leaves().size()); ++leaf) {
        asked |= !LayoutOf(sharding_of(call, leaf), table_.shape(table_.ValueOf(call, leaf)).rank())
                      .Used()
                      .empty();
      }
      const PlacedCall placed = Place(*call, sharding_of);
      SHOAL_ASSIGN_OR_RETURN(OpSharding answer, asked ? owner->FromUser(placed) : owner->InferResult(placed));
      SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> given, ShardingsOver(mesh_, answer, call->shape()));
      for (size_t leaf = 0; leaf < given.size(); ++leaf) {
        TensorState& state = states_[table_.ValueOf(call, static_cast<int64_t>(leaf))];
        for (size_t d = 0; d < state.dims.size(); ++d) {
          if (state.dims[d].open) state.dims[d].axes.clear();
        }
        for (size_t d = 0; d < state.dims.size(); ++d) {
          if (state.dims[d].open)
            state.dims[d].axes = PrefixClearOf(Atoms(given[leaf].dims[d].axes), state.Taken());
        }
      }
      RunLevels();
    }
    return absl::OkStatus();
  }

  void Reveal(int priority) {
    for (const Hidden& hidden : hidden_) {
      if (hidden.written.priority != priority) continue;
      TensorState& state = states_[hidden.value];
      DimSharding& dim = state.dims[hidden.dim];
      state.unusable = Without(state.unusable, hidden.written.axes);
      dim.axes = PrefixClearOf(hidden.written.axes, state.Taken());
      dim.open = hidden.written.open;
    }
  }

  void FixPoint(int level, bool aggressive) {
    std::deque<int> queue;
    std::vector<bool> queued(links_.size(), true);
    for (size_t l = 0; l < links_.size(); ++l) queue.push_back(static_cast<int>(l));
    while (!queue.empty()) {
      const int l = queue.front();
      queue.pop_front();
      queued[l] = false;
      for (int value : RunLink(links_[l], level, aggressive)) {
        for (int user : users_[value]) {
          if (user == l || queued[user]) continue;
          queued[user] = true;
          queue.push_back(user);
        }
      }
    }
  }

  // The values that changed.
  std::vector<int> RunLink(const Link& link, int level, bool aggressive) {
    if (link.is_manual_border) {
      if (!PropagateManualBorder(link, states_[link.operands[0]], states_[link.results[0]])) return {};
      return {link.operands[0], link.results[0]};
    }
    bool shared = false;
    FactorPropagation op{&link.rule, false, {}, {}};
    op.is_elementwise =
        link.instruction != nullptr && FamilyOf(link.instruction->opcode()) == OpFamily::kElementwise;
    for (int v : link.operands) {
      op.operands.push_back(&states_[v]);
      shared |= uses_[v] > 1 && states_[v].shape.rank() > 0;
    }
    for (int v : link.results) op.results.push_back(&states_[v]);
    std::vector<bool> changed;
    PropagateFactors(
        op, [&](int factor) { return DirectionAt(level, link, factor, shared); }, aggressive, changed);
    std::vector<int> values;
    for (size_t t = 0; t < changed.size(); ++t) {
      if (!changed[t]) continue;
      values.push_back(t < link.operands.size() ? link.operands[t] : link.results[t - link.operands.size()]);
    }
    return values;
  }

  // --- Writing the result ---

  void WriteBack() {
    for (int value : chosen_) {
      const AxisList dropped = TrimToWholeAxes(states_[value]);
      const bool is_result = std::find(results_.begin(), results_.end(), value) != results_.end();
      if (is_result) PlaceElsewhere(dropped, states_[value]);
    }
    for (Computation* computation : table_.computations()) {
      for (Instruction* instruction : computation->instructions()) {
        // A call that one device runs alone: its sharding stays and says which.
        if (instruction->opcode() == Opcode::kCustomCall && IsOnOneDevice(*instruction)) continue;
        std::vector<Sharding> shardings;
        const int64_t leaves = static_cast<int64_t>(instruction->shape().Leaves().size());
        for (int64_t leaf = 0; leaf < leaves; ++leaf) {
          shardings.push_back(ShardingOf(table_.ValueOf(instruction, leaf)));
        }
        instruction->set_shardings(std::move(shardings));
      }
    }
    for (auto& [instruction, inputs] : manual_inputs_) {
      ManualAttributes attributes = instruction->attributes<ManualAttributes>();
      for (size_t i = 0; i < inputs.size(); ++i) attributes.in_shardings[i] = ShardingOf(inputs[i]);
      attributes.manual_axes = ManualAxisNames(manual_axes_.at(instruction), *mesh_);
      attributes.out_shardings = instruction->shardings();
      instruction->set_attributes(std::move(attributes));
    }
    for (auto& [parameter, shardings] : foreign_) parameter->set_shardings(shardings);
    std::vector<Sharding>& results = module_.config().result_shardings;
    results.resize(results_.size());
    for (size_t leaf = 0; leaf < results_.size(); ++leaf) {
      if (!foreign_result_[leaf]) results[leaf] = ShardingOf(results_[leaf]);
    }
  }

  // Callers know their shardings as whole axes that divide the dimension (jax.sharding.NamedSharding). What
  // has to go.
  AxisList TrimToWholeAxes(TensorState& state) const {
    AxisList dropped;
    for (size_t d = 0; d < state.dims.size(); ++d) {
      AxisList& axes = state.dims[d].axes;
      auto fits = [&] {
        for (const AxisRef& ref : Merged(axes)) {
          if (ref != WholeAxis(*mesh_, ref.axis)) return false;
        }
        return state.shape.dim(static_cast<int64_t>(d)) % SizeOf(axes) == 0;
      };
      const AxisList all = axes;
      while (!axes.empty() && !fits()) axes.pop_back();
      dropped = Concat(dropped, Suffix(all, axes.size()));
    }
    return dropped;
  }

  // Each whole axis goes to the largest dimension that it divides, if there is one: that takes less traffic
  // and less memory than every device's having all of the array.
  void PlaceElsewhere(const AxisList& dropped, TensorState& state) const {
    for (const AxisRef& ref : Merged(dropped)) {
      if (ref != WholeAxis(*mesh_, ref.axis)) continue;
      const AxisList atoms = Atoms(ref);
      DimSharding* best = nullptr;
      int64_t longest = 0;
      for (size_t d = 0; d < state.dims.size(); ++d) {
        const int64_t size = state.shape.dim(static_cast<int64_t>(d));
        if (!state.dims[d].open || size <= longest || size % (SizeOf(state.dims[d].axes) * ref.size) != 0) {
          continue;
        }
        best = &state.dims[d];
        longest = size;
      }
      if (best != nullptr && !Overlaps(state.Taken(), ref)) best->axes = Concat(best->axes, atoms);
    }
  }

  Sharding ShardingOf(int value) const {
    Sharding sharding;
    sharding.mesh = mesh_;
    for (const DimSharding& dim : states_[value].dims) sharding.dims.push_back({Merged(dim.axes)});
    if (auto it = unreduced_.find(value); it != unreduced_.end()) sharding.unreduced = it->second;
    return sharding;
  }

  Module& module_;
  const PropagationOptions& options_;
  const std::shared_ptr<const Mesh> mesh_;
  ValueTable table_;
  std::vector<TensorState> states_;  // by value
  std::vector<bool> annotated_;      // by value
  absl::flat_hash_map<int, AxisList> unreduced_;
  std::vector<Hidden> hidden_;
  std::set<int> priorities_;
  std::vector<Link> links_;
  std::vector<std::vector<int>> users_;    // links of each value
  std::vector<int> uses_;                  // links that have the value as operand
  std::vector<int> results_;               // values of entry result leaves
  std::vector<int> chosen_;                // parameters and results that the compiler has a say in
  std::vector<const Instruction*> owned_;  // custom calls that have a partitioner
  std::vector<bool> foreign_result_;
  absl::flat_hash_map<Instruction*, std::vector<Sharding>> foreign_;  // parameters over another mesh
  absl::flat_hash_map<Instruction*, std::vector<int>> manual_inputs_;
  absl::flat_hash_map<Instruction*, AxisList> manual_axes_;
  absl::flat_hash_map<std::string, int> groups_;  // the first value of each sharding group
};

}  // namespace

absl::Status PropagateShardings(Module& module, const PropagationOptions& options) {
  SHOAL_RETURN_IF_ERROR(CheckMeshes(module));
  SHOAL_RETURN_IF_ERROR(FlattenCalls(module));
  return Propagation(module, options).Run();
}

}  // namespace shoal
