#include "core/lower/draft.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/host_transfer.h"
#include "core/hlo/origin.h"
#include "core/lower/collective.h"
#include "core/runtime/collective_step.h"
#include "core/runtime/control_step.h"
#include "core/runtime/custom_call_step.h"
#include "core/runtime/host_transfer_step.h"
#include "core/runtime/native_step.h"

namespace shoal {
namespace {

// A loop whose trips are not known is taken to run this often.
constexpr double kGuessedTrips = 1000;
constexpr double kCopyNsPerByte = 0.1;

BufferRef RefOf(const Slice& slice) { return {slice.base, slice.offset}; }

// "dot_general at train.py:41 and 3 more".
std::string NameOf(const NativeBlock& block) {
  if (block.dearest == nullptr) return "copies";
  std::string name = ShortOrigin(block.dearest->op_name());
  if (name.empty()) name = std::string(block.dearest->name());
  if (block.kernels > 1) absl::StrAppend(&name, " and ", block.kernels - 1, " more");
  return name;
}

// The list of a native step, its control functions still numbers.
struct CallList {
  std::vector<BufferRef> table;
  std::vector<NativeCall> calls;
  std::vector<size_t> controls;  // of the calls that are control functions, in order

  void Add(const KernelCall& call) {
    const int32_t first = Append(call.buffers);
    for (const KernelPhase& phase : call.kernel->phases) {
      NativeCall& added = calls.emplace_back();
      added.first = first;
      added.kind = phase.routine != nullptr                         ? NativeCall::Kind::kRoutine
                   : phase.units > 1 && phase.cost_ns > kParallelNs ? NativeCall::Kind::kParallelKernel
                                                                    : NativeCall::Kind::kKernel;
      added.kernel = phase.address;
      added.routine = phase.routine.get();
      added.count = phase.units;
      added.grain = phase.grain;
      if (phase.routine == nullptr && phase.units == 0) calls.pop_back();
    }
  }

  void Add(const CopyBytes& copy) {
    const bool same = copy.from.base == copy.to.base && copy.from.offset == copy.to.offset;
    if (same || copy.bytes == 0) return;
    NativeCall& added = calls.emplace_back();
    added.kind = NativeCall::Kind::kCopy;
    added.first = Append({copy.from, copy.to});
    added.count = copy.bytes;
  }

  void AddControl(size_t number) {
    calls.emplace_back().kind = NativeCall::Kind::kControl;
    controls.push_back(number);
  }

  std::vector<NativeCall> Calls(ControlList loaded) const {
    std::vector<NativeCall> complete = calls;
    auto number = controls.begin();
    for (NativeCall& call : complete) {
      if (call.kind != NativeCall::Kind::kControl) continue;
      const LoadedControl& control = *loaded[*number++];
      call.control = control.function;
      call.routines = control.routines.data();
    }
    return complete;
  }

 private:
  int32_t Append(absl::Span<const BufferRef> buffers) {
    const auto first = static_cast<int32_t>(table.size());
    table.insert(table.end(), buffers.begin(), buffers.end());
    return first;
  }
};

// "send of f32[4] and s8[2]", "recv of nothing".
std::string TransferText(const Instruction& transfer, bool sends) {
  std::vector<std::string> arrays;
  for (const Instruction* operand : transfer.operands()) {
    if (sends && operand->shape().IsArray()) arrays.push_back(operand->shape().ToString());
  }
  for (const Shape& result : transfer.shape().Leaves()) {
    if (result.IsArray()) arrays.push_back(result.ToString());
  }
  return absl::StrCat(sends ? "send" : "recv", " of ",
                      arrays.empty() ? "nothing" : absl::StrJoin(arrays, " and "));
}

// Arrays as a callee sees them that was promised these layouts (CustomCallAttributes): the same bytes under
// its own order of dimensions.
std::vector<Shape> SeenInLayouts(std::vector<Shape> shapes, const Groups& layouts) {
  for (size_t i = 0; i < shapes.size() && i < layouts.size(); ++i) {
    const int64_t rank = shapes[i].rank();
    if (!shapes[i].IsArray() || static_cast<int64_t>(layouts[i].size()) != rank) continue;
    DimVector dims(rank);
    for (int64_t j = 0; j < rank; ++j) dims[layouts[i][rank - 1 - j]] = shapes[i].dim(j);
    shapes[i] = shapes[i].WithDims(dims);
  }
  return shapes;
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const PlanDraft& draft, ControlList controls) {
  std::vector<std::unique_ptr<Step>> steps;
  for (const StepMaker& make : draft) {
    SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, make(controls));
    steps.push_back(std::move(step));
  }
  return Plan(std::move(steps));
}

struct Drafter::Open {
  PlanDraft draft;
  NativeBlock block;
  int block_level = 0;                       // the latest step that something in `block` waits for
  int level = 0;                             // of the latest step that is not native
  absl::flat_hash_map<ValueId, int> levels;  // of values, if not 0
};

absl::StatusOr<PlanDraft> Drafter::DraftEntry(const Computation& entry) {
  return DraftPart(entry, buffers_.AtEnd());
}

absl::StatusOr<PlanDraft> Drafter::DraftPart(const Computation& computation,
                                             const std::vector<SliceCopy>& copies_at_end) {
  Open open;
  SHOAL_RETURN_IF_ERROR(AddAll(computation, open));
  // They may read anything; a step of their own if a collective is under way is not worth the trouble.
  if (!copies_at_end.empty() && open.block_level != open.level) Flush(open);
  AppendCopies(copies_at_end, open.block);
  Flush(open);
  return std::move(open.draft);
}

absl::Status Drafter::AddAll(const Computation& computation, Open& open) {
  for (const Instruction* instruction : computation.instructions()) {
    SHOAL_RETURN_IF_ERROR(Add(instruction, open));
  }
  return absl::OkStatus();
}

absl::Status Drafter::Add(const Instruction* instruction, Open& open) {
  const LoweringKind kind = LoweringKindOf(*instruction);
  const bool native_callees = std::all_of(instruction->called().begin(), instruction->called().end(),
                                          [](const Computation* callee) { return IsNative(*callee); });
  switch (kind) {
    case LoweringKind::kForward:
      if (instruction->opcode() == Opcode::kAfterAll) tokens_.Forward(*instruction);
      return absl::OkStatus();
    case LoweringKind::kCollective:
      return AddCollective(instruction, open);
    case LoweringKind::kCustomCall:
      return AddCustomCall(instruction, open);
    case LoweringKind::kCall:
      return AddAll(*instruction->called(0), open);
    case LoweringKind::kLoop:
      if (!native_callees) return AddLoopStep(instruction, open);
      tokens_.Forward(*instruction);
      break;
    case LoweringKind::kConditional:
      if (!native_callees) return AddConditionalStep(instruction, open);
      tokens_.Forward(*instruction);
      break;
    case LoweringKind::kKernel:
      break;
  }
  const int level = LevelOf(instruction, open);
  if (level > open.block_level) {
    Flush(open);
    open.block_level = level;
  }
  SetLevel(instruction, open.block_level, open);
  Append(instruction, open.block);
  return absl::OkStatus();
}

int Drafter::LevelOf(const Instruction* instruction, const Open& open) const {
  int level = 0;
  for (ValueId id : buffers_.liveness().OperandValues(instruction)) {
    const auto it = open.levels.find(id);
    if (it != open.levels.end()) level = std::max(level, it->second);
  }
  return level;
}

void Drafter::SetLevel(const Instruction* instruction, int level, Open& open) const {
  if (level == 0) return;
  for (ValueId id : buffers_.liveness().ValuesOf(instruction)) open.levels.try_emplace(id, level);
}

size_t Drafter::WantControl(SequenceStep step) {
  SequenceBlock steps;
  steps.push_back(std::move(step));
  std::string key = ControlKey(steps);
  const auto [it, is_new] = control_by_key_.try_emplace(key, controls_.size());
  if (is_new) controls_.push_back({std::move(key), std::move(steps)});
  return it->second;
}

void Drafter::Flush(Open& open) {
  NativeBlock block = std::move(open.block);
  open.block = NativeBlock();
  open.block_level = 0;
  if (block.steps.empty()) return;
  CallList list;
  for (SequenceStep& step : block.steps) {
    if (const auto* call = std::get_if<KernelCall>(&step.step)) {
      list.Add(*call);
    } else if (const auto* copy = std::get_if<CopyBytes>(&step.step)) {
      list.Add(*copy);
    } else {
      list.AddControl(WantControl(std::move(step)));
    }
  }
  open.draft.push_back(
      [name = NameOf(block), uses = std::move(block.uses), cost = block.cost_ns,
       list = std::move(list)](ControlList controls) -> absl::StatusOr<std::unique_ptr<Step>> {
        return std::make_unique<NativeStep>(name, uses, list.table, list.Calls(controls), cost);
      });
}

absl::Status Drafter::AddCollective(const Instruction* instruction, Open& open) {
  Flush(open);
  SHOAL_ASSIGN_OR_RETURN(CollectiveOp op, CollectiveOpOf(*instruction));
  op.number = collective_count_++;
  op.program_fingerprint = fingerprint_;
  SetLevel(instruction, ++open.level, open);
  open.draft.push_back(
      [op = std::move(op), origin = ShortOrigin(instruction->op_name()),
       inputs = buffers_.OperandSlices(instruction),
       outputs = buffers_.ResultSlices(instruction)](ControlList) -> absl::StatusOr<std::unique_ptr<Step>> {
        return std::make_unique<CollectiveStep>(op, inputs, outputs, origin);
      });
  return absl::OkStatus();
}

absl::Status Drafter::AddCustomCall(const Instruction* instruction, Open& open) {
  if (IsHostTransfer(*instruction)) return AddHostTransfer(instruction, open);
  const auto& attributes = instruction->attributes<CustomCallAttributes>();
  std::vector<Slice> operands = buffers_.OperandSlices(instruction);
  const std::vector<Slice> results = buffers_.ResultSlices(instruction);
  // The callee counts on one buffer where an operand is a result's alias: that is more than a wish to share.
  for (const auto& [result, operand] : attributes.output_operand_aliases) {
    if (result >= static_cast<int64_t>(results.size()) || operand >= static_cast<int64_t>(operands.size()))
      return absl::InvalidArgumentError(absl::StrCat(instruction->name(), ": an alias of operand ", operand,
                                                     " and result ", result, ", which it has not"));
    if (operands[operand] == results[result]) continue;
    AppendCopies({{operands[operand], results[result]}}, open.block);
    operands[operand] = results[result];
  }
  Flush(open);
  CustomCallSite site{attributes.target, attributes.backend_config, attributes.api_version,
                      attributes.has_side_effect};
  for (const Instruction* operand : instruction->operands()) {
    for (Shape& leaf : operand->shape().Leaves()) site.operands.push_back(leaf);
  }
  site.operands = SeenInLayouts(std::move(site.operands), attributes.operand_layouts);
  site.results = SeenInLayouts(instruction->shape().Leaves(), attributes.result_layouts);
  site.op_name = instruction->op_name();
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<CustomCall> call, CustomCallRegistry::Get().Prepare(site));
  SetLevel(instruction, ++open.level, open);
  // A maker runs once: the call moves into its step.
  auto kept = std::make_shared<std::unique_ptr<CustomCall>>(std::move(call));
  open.draft.push_back(
      [kept, site, name = instruction->name(), operands, results,
       order = tokens_.Of(*instruction)](ControlList) -> absl::StatusOr<std::unique_ptr<Step>> {
        return std::make_unique<CustomCallStep>(name, std::move(*kept), site, operands, results, order);
      });
  return absl::OkStatus();
}

absl::Status Drafter::AddHostTransfer(const Instruction* transfer, Open& open) {
  const bool sends = IsCallOf(*transfer, kHostSendTarget);
  const std::optional<int64_t> id = HostChannelId(*transfer);
  const bool has_token =
      sends ? transfer->operand_count() > 0 &&
                  transfer->operand(transfer->operand_count() - 1)->shape().IsToken()
            : !transfer->shape().Leaves().empty() && transfer->shape().Leaves().back().IsToken();
  if (!id || !has_token)
    return absl::InvalidArgumentError(absl::StrCat(transfer->ToString(), " has no channel or no token"));
  Flush(open);
  const std::string origin = ShortOrigin(transfer->op_name());
  HostChannel channel{*id, sends, TransferText(*transfer, sends)};
  if (!origin.empty()) absl::StrAppend(&channel.what, " (", origin, ")");
  std::vector<Slice> arrays = sends ? buffers_.OperandSlices(transfer) : buffers_.ResultSlices(transfer);
  arrays.pop_back();  // the token's
  if (std::none_of(host_channels_.begin(), host_channels_.end(),
                   [&](const HostChannel& known) { return known.id == *id && known.sends == sends; }))
    host_channels_.push_back(channel);
  SetLevel(transfer, ++open.level, open);
  open.draft.push_back([channel, arrays, order = tokens_.OfTransfer(*transfer, *id, sends)](
                           ControlList) -> absl::StatusOr<std::unique_ptr<Step>> {
    return std::make_unique<HostTransferStep>(channel, arrays, order);
  });
  return absl::OkStatus();
}

absl::Status Drafter::AddLoopStep(const Instruction* loop, Open& open) {
  AppendCopies(buffers_.AtLoopEntry(loop), open.block);
  Flush(open);
  SHOAL_ASSIGN_OR_RETURN(PlanDraft condition, DraftPart(*loop->called(0), {}));
  SHOAL_ASSIGN_OR_RETURN(PlanDraft body, DraftPart(*loop->called(1), buffers_.AtLoopBack(loop)));
  SetLevel(loop, ++open.level, open);
  open.draft.push_back([condition = std::move(condition), body = std::move(body), name = loop->name(),
                        predicate = buffers_.slice(loop->called(0)->root()), order = tokens_.Of(*loop)](
                           ControlList controls) -> absl::StatusOr<std::unique_ptr<Step>> {
    SHOAL_ASSIGN_OR_RETURN(Plan condition_plan, MakePlan(condition, controls));
    SHOAL_ASSIGN_OR_RETURN(Plan body_plan, MakePlan(body, controls));
    return std::make_unique<WhileStep>(name, std::move(condition_plan), predicate, std::move(body_plan),
                                       order);
  });
  return absl::OkStatus();
}

absl::Status Drafter::AddConditionalStep(const Instruction* conditional, Open& open) {
  Flush(open);
  std::vector<PlanDraft> branches;
  for (size_t i = 0; i < conditional->called().size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(PlanDraft branch,
                           DraftPart(*conditional->called(static_cast<int64_t>(i)),
                                     buffers_.AtBranchEnd(conditional, static_cast<int64_t>(i))));
    branches.push_back(std::move(branch));
  }
  SetLevel(conditional, ++open.level, open);
  const bool is_pred = conditional->operand(0)->shape().element_type() == ElementType::kPred;
  open.draft.push_back([branches = std::move(branches), name = conditional->name(), is_pred,
                        selector = buffers_.slice(conditional->operand(0)), order = tokens_.Of(*conditional)](
                           ControlList controls) -> absl::StatusOr<std::unique_ptr<Step>> {
    std::vector<Plan> plans;
    for (const PlanDraft& branch : branches) {
      SHOAL_ASSIGN_OR_RETURN(Plan plan, MakePlan(branch, controls));
      plans.push_back(std::move(plan));
    }
    return std::make_unique<ConditionalStep>(name, selector, is_pred, std::move(plans), order);
  });
  return absl::OkStatus();
}

void Drafter::AppendAll(const Computation& computation, NativeBlock& block) const {
  for (const Instruction* instruction : computation.instructions()) Append(instruction, block);
}

void Drafter::Append(const Instruction* instruction, NativeBlock& block) const {
  switch (LoweringKindOf(*instruction)) {
    case LoweringKind::kKernel:
      return AppendKernel(instruction, block);
    case LoweringKind::kLoop:
      return AppendLoop(instruction, block);
    case LoweringKind::kConditional:
      return AppendConditional(instruction, block);
    case LoweringKind::kCall:
      return AppendAll(*instruction->called(0), block);
    default:
      return;
  }
}

void Drafter::AppendKernel(const Instruction* instruction, NativeBlock& block) const {
  const Kernel* kernel = kernels_.Find(instruction);
  if (kernel->phases.empty()) return;
  KernelCall call{kernel, {}};
  for (const Slice& slice : buffers_.OperandSlices(instruction)) {
    call.buffers.push_back(RefOf(slice));
    block.uses.push_back({slice, false});
  }
  for (const Slice& slice : buffers_.ResultSlices(instruction)) {
    call.buffers.push_back(RefOf(slice));
    block.uses.push_back({slice, true});
  }
  if (kernel->scratch_bytes > 0) {
    const Slice scratch = buffers_.scratch(instruction);
    call.buffers.push_back(RefOf(scratch));
    block.uses.push_back({scratch, true});
  }
  block.cost_ns += kernel->cost_ns();
  ++block.kernels;
  if (kernel->cost_ns() > block.dearest_ns) {
    block.dearest = instruction;
    block.dearest_ns = kernel->cost_ns();
  }
  block.steps.push_back({std::move(call)});
}

void Drafter::AppendCopies(const std::vector<SliceCopy>& copies, NativeBlock& block) {
  for (const SliceCopy& copy : copies) {
    block.steps.push_back({CopyBytes{RefOf(copy.from), RefOf(copy.to), copy.from.bytes}});
    block.uses.push_back({copy.from, false});
    block.uses.push_back({copy.to, true});
    block.cost_ns += kCopyNsPerByte * static_cast<double>(copy.from.bytes);
  }
}

SequenceBlock Drafter::Nest(NativeBlock inner, double times, NativeBlock& outer) {
  outer.uses.insert(outer.uses.end(), inner.uses.begin(), inner.uses.end());
  outer.cost_ns += times * inner.cost_ns;
  outer.kernels += inner.kernels;
  if (times * inner.dearest_ns > outer.dearest_ns) {
    outer.dearest = inner.dearest;
    outer.dearest_ns = times * inner.dearest_ns;
  }
  return std::move(inner.steps);
}

void Drafter::AppendLoop(const Instruction* loop, NativeBlock& block) const {
  AppendCopies(buffers_.AtLoopEntry(loop), block);
  WhileLoop step;
  NativeBlock condition, body;
  AppendAll(*loop->called(0), condition);
  AppendAll(*loop->called(1), body);
  AppendCopies(buffers_.AtLoopBack(loop), body);
  const Slice predicate = buffers_.slice(loop->called(0)->root());
  step.predicate = RefOf(predicate);
  block.uses.push_back({predicate, false});
  step.condition = Nest(std::move(condition), kGuessedTrips, block);
  step.body = Nest(std::move(body), kGuessedTrips, block);
  block.steps.push_back({std::move(step)});
}

void Drafter::AppendConditional(const Instruction* conditional, NativeBlock& block) const {
  Branch step;
  const Slice selector = buffers_.slice(conditional->operand(0));
  step.index = RefOf(selector);
  step.is_pred = conditional->operand(0)->shape().element_type() == ElementType::kPred;
  block.uses.push_back({selector, false});
  for (size_t i = 0; i < conditional->called().size(); ++i) {
    NativeBlock branch;
    AppendAll(*conditional->called(static_cast<int64_t>(i)), branch);
    AppendCopies(buffers_.AtBranchEnd(conditional, static_cast<int64_t>(i)), branch);
    step.branches.push_back(Nest(std::move(branch), 1, block));
  }
  block.steps.push_back({std::move(step)});
}

}  // namespace shoal
