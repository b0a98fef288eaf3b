#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/ops/builder.h"
#include "core/ops/counted_loop.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// Collects what regions use and do not define, in the order of first use. Constants are not worth carrying.
class CaptureFinder {
 public:
  void Visit(const MlirRegion& region) {
    for (const MlirBlock* block : region.blocks) {
      for (const MlirValue* argument : block->arguments) seen_.insert(argument);
      for (const MlirOperation* op : block->operations) Visit(*op);
    }
  }
  std::vector<const MlirValue*> captures() && { return std::move(captures_); }

 private:
  void Visit(const MlirOperation& op) {
    for (const MlirValue* operand : op.operands) {
      if (IsMlirConstant(operand->owner)) continue;
      if (seen_.insert(operand).second) captures_.push_back(operand);
    }
    for (const MlirRegion* region : op.regions) Visit(*region);
    for (const MlirValue* result : op.results) seen_.insert(result);
  }

  absl::flat_hash_set<const MlirValue*> seen_;
  std::vector<const MlirValue*> captures_;
};

absl::StatusOr<const MlirBlock*> BlockOf(const OpImporter& c, size_t region) {
  const std::vector<MlirBlock*>& blocks = c.op().regions[region]->blocks;
  if (blocks.size() != 1) return c.Error(absl::StrCat("region ", region, " has ", blocks.size(), " blocks"));
  return blocks[0];
}

// A computation whose one parameter is the tuple `state`: the block's arguments, then the captures.
absl::StatusOr<Computation*> RegionOverTuple(OpImporter& c, size_t region, absl::string_view wish,
                                             const Shape& state, absl::Span<const MlirValue* const> captures,
                                             bool returns_state, absl::string_view label) {
  SHOAL_ASSIGN_OR_RETURN(const MlirBlock* block, BlockOf(c, region));
  if (block->arguments.size() + captures.size() != state.elements().size()) {
    return c.Error(label, absl::StrCat("region ", region, " has ", block->arguments.size(), " arguments"));
  }
  Computation* computation = c.module().AddComputation(wish);
  RegionImporter importer(&c.importer(), computation);
  Instruction* parameter = computation->AddParameter(0, state);
  std::vector<Instruction*> captured;
  for (size_t i = 0; i < state.elements().size(); ++i) {
    Instruction* element = computation->AddGetTupleElement(parameter, static_cast<int64_t>(i));
    const bool is_capture = i >= block->arguments.size();
    if (is_capture) captured.push_back(element);
    if (!is_capture) {
      SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(*block->arguments[i]->type));
      if (shape != element->shape()) {
        return c.Error(label, absl::StrCat("argument ", i, " of region ", region, " is ", shape.ToString(),
                                           " where the state is ", element->shape().ToString()));
      }
    }
    importer.Bind(is_capture ? captures[i - block->arguments.size()] : block->arguments[i], element);
  }
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results, importer.Import(*block));
  if (returns_state) results.insert(results.end(), captured.begin(), captured.end());
  computation->set_root(!returns_state && results.size() == 1 ? results[0] : computation->AddTuple(results));
  return computation;
}

// `label`: of the constraint that the branches take nothing.
absl::Status ImportBranches(OpImporter& c, absl::string_view wish, absl::string_view label) {
  if (c.operands().size() != 1) return c.Error("one operand is expected");
  if (c.op().regions.empty()) return c.Error("C1", "there are no branches");
  std::vector<Instruction*> operands = {c.operand(0)};
  std::vector<Computation*> branches;
  for (size_t i = 0; i < c.op().regions.size(); ++i) {
    CaptureFinder finder;
    finder.Visit(*c.op().regions[i]);
    const std::vector<const MlirValue*> captures = std::move(finder).captures();
    std::vector<Instruction*> values;
    for (const MlirValue* capture : captures) {
      SHOAL_ASSIGN_OR_RETURN(values.emplace_back(), c.region().Lookup(capture, c.op()));
    }
    operands.push_back(c.computation().AddTuple(values));
    SHOAL_ASSIGN_OR_RETURN(
        branches.emplace_back(),
        RegionOverTuple(c, i, wish, operands.back()->shape(), captures, /*returns_state=*/false, label));
  }
  return c.Emit(Opcode::kConditional, operands, {}, branches);
}

}  // namespace

absl::Status ImportCase(OpImporter& c) { return ImportBranches(c, "branch", "C2"); }

absl::Status ImportIf(OpImporter& c) {
  if (c.op().regions.size() != 2) return c.Error("two branches are expected");
  return ImportBranches(c, "branch", "C1");
}

// The state is the operands, then what the regions capture; the latter goes round unchanged.
absl::Status ImportWhile(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n), 2));
  CaptureFinder finder;
  finder.Visit(*c.op().regions[0]);
  finder.Visit(*c.op().regions[1]);
  const std::vector<const MlirValue*> captures = std::move(finder).captures();
  std::vector<Instruction*> initial(c.operands().begin(), c.operands().end());
  for (const MlirValue* capture : captures) {
    SHOAL_ASSIGN_OR_RETURN(initial.emplace_back(), c.region().Lookup(capture, c.op()));
  }
  Instruction* state = c.computation().AddTuple(initial);
  SHOAL_ASSIGN_OR_RETURN(Computation * condition,
                         RegionOverTuple(c, 0, "while_condition", state->shape(), captures, false, "C1"));
  SHOAL_ASSIGN_OR_RETURN(Computation * body,
                         RegionOverTuple(c, 1, "while_body", state->shape(), captures, true, "C2"));
  if (body->root()->shape() != state->shape()) {
    return c.Error("C2", absl::StrCat("the body returns ", body->root()->shape().ToString(),
                                      " where the state is ", state->shape().ToString()));
  }
  for (size_t i = 0; i < n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape(i));
    if (shape != c.operand_shape(i))
      return c.Error("C3", absl::StrCat("result ", i, " is ", shape.ToString()));
  }
  return c.Finish(c.Add(Opcode::kWhile, state->shape(), {state}, {}, {condition, body}), /*is_tuple=*/true);
}

absl::Status ImportCall(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(absl::string_view name, c.Text("callee"));
  SHOAL_ASSIGN_OR_RETURN(Computation * callee, c.importer().Function(name));
  if (callee->parameters().size() != c.operands().size()) {
    return c.Error(absl::StrCat("@", name, " takes ", callee->parameters().size(), " arguments, not ",
                                c.operands().size()));
  }
  return c.Emit(Opcode::kCall, c.operands(), {}, {callee});
}

namespace {

// is_namespaced_op_name: a word, then one or more with dots before them. Only the first is like an
// identifier.
bool IsNamespacedName(absl::string_view name) {
  const std::vector<absl::string_view> words = absl::StrSplit(name, '.');
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty() || (i == 0 && absl::ascii_isdigit(static_cast<unsigned char>(words[i][0]))))
      return false;
    for (char letter : words[i]) {
      const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(letter)) || letter == '_';
      if (!plain && (letter != '$' || i == 0)) return false;
    }
  }
  return words.size() > 1;
}

// A loop over the elements of arrays along one dimension, the last one first.
class ReverseScan {
 public:
  ReverseScan(OpImporter& c, Computation* body, size_t inputs, int64_t dimension)
      : c_(c), body_(body), inputs_(inputs), carries_(c.operands().size() - inputs), dimension_(dimension) {}

  // The outputs, then the carries.
  absl::StatusOr<std::vector<Instruction*>> Run() {
    HloBuilder b(&c_.computation());
    const size_t outputs = c_.op().results.size() - carries_;
    const int64_t count = c_.operand_shape(0).dim(dimension_);
    // The carries, the outputs, the inputs.
    std::vector<Instruction*> initial;
    for (size_t i = 0; i < carries_; ++i) initial.push_back(c_.operand(inputs_ + i));
    for (size_t i = 0; i < outputs; ++i) {
      SHOAL_ASSIGN_OR_RETURN(Shape shape, c_.ResultShape(i));
      initial.push_back(b.Splat(shape, 0));
    }
    initial.insert(initial.end(), c_.operands().begin(), c_.operands().begin() + inputs_);
    SHOAL_ASSIGN_OR_RETURN(
        std::vector<Instruction*> last,
        CountedLoop(
            b, "scan", count, initial,
            [&](HloBuilder& step, Instruction* turn, std::vector<Instruction*>& state) {
              Step(step, step.Subtract(step.Scalar(ElementType::kS64, static_cast<double>(count - 1)), turn),
                   state);
            }));
    SHOAL_RETURN_IF_ERROR(b.status());
    last.resize(carries_ + outputs);
    std::rotate(last.begin(), last.begin() + static_cast<int64_t>(carries_), last.end());
    return last;
  }

 private:
  void Step(HloBuilder& b, Instruction* at, std::vector<Instruction*>& state) {
    std::vector<Instruction*> arguments;
    for (size_t i = state.size() - inputs_; i < state.size(); ++i) {
      const Shape& whole = state[i]->shape();
      IntVector sizes(whole.dims().begin(), whole.dims().end()), rest = sizes;
      sizes[dimension_] = 1;
      rest.erase(rest.begin() + dimension_);
      arguments.push_back(b.Reshape(b.DynamicSlice(state[i], Starts(b, at, whole.rank()), sizes), rest));
    }
    arguments.insert(arguments.end(), state.begin(), state.begin() + static_cast<int64_t>(carries_));
    Instruction* result = b.Call(body_, arguments);
    const size_t outputs = state.size() - inputs_ - carries_;
    const auto element = [&](size_t i) {
      return result->shape().IsTuple() ? b.GetTupleElement(result, static_cast<int64_t>(i)) : result;
    };
    for (size_t i = 0; i < outputs; ++i) {
      Instruction*& whole = state[carries_ + i];
      IntVector sizes(whole->shape().dims().begin(), whole->shape().dims().end());
      sizes[dimension_] = 1;
      std::vector<Instruction*> operands = {whole, b.Reshape(element(i), sizes)};
      for (Instruction* start : Starts(b, at, whole->shape().rank())) operands.push_back(start);
      whole = b.Op(Opcode::kDynamicUpdateSlice, operands);
    }
    for (size_t i = 0; i < carries_; ++i) state[i] = element(outputs + i);
  }

  std::vector<Instruction*> Starts(HloBuilder& b, Instruction* at, int64_t rank) const {
    std::vector<Instruction*> starts(static_cast<size_t>(rank), b.Scalar(ElementType::kS64, 0));
    starts[static_cast<size_t>(dimension_)] = at;
    return starts;
  }

  OpImporter& c_;
  Computation* body_;
  const size_t inputs_, carries_;
  const int64_t dimension_;
};

// chlo.scan with is_reverse, from the region that the composite has: the decomposition that jaxlib 0.10.2
// writes begins with the first element.
absl::StatusOr<bool> ImportReverseScan(OpImporter& c) {
  const MlirAttribute* attributes = c.Find("composite_attributes");
  if (attributes == nullptr || c.op().regions.size() != 1) return false;
  const MlirAttribute *reverse = attributes->Find("is_reverse"), *along = attributes->Find("dimension"),
                      *segments = attributes->Find("operandSegmentSizes");
  if (reverse == nullptr || reverse->integer == 0 || along == nullptr || segments == nullptr) return false;
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, IntsOf(*segments));
  const int64_t operands = static_cast<int64_t>(c.operands().size());
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 0 || sizes[0] + sizes[1] != operands ||
      c.op().results.size() < static_cast<size_t>(sizes[1]))
    return c.Error(absl::StrCat("segments of ", absl::StrJoin(sizes, ", "), " for ", operands, " operands"));
  for (size_t i = 0; i < static_cast<size_t>(sizes[0]); ++i) {
    SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
    const Shape& input = c.operand_shape(i);
    if (along->integer < 0 || along->integer >= input.rank() ||
        input.dim(along->integer) != c.operand_shape(0).dim(along->integer))
      return c.Error(absl::StrCat("dimension ", along->integer, " of operand ", i, ", ", input.ToString()));
    if (input.dim(along->integer) == 0) return false;
  }
  const size_t outputs = c.op().results.size() - static_cast<size_t>(sizes[1]);
  for (size_t i = 0; i < outputs; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape output, c.ResultShape(i));
    if (!output.IsArray() || along->integer >= output.rank())
      return c.Error(absl::StrCat("result ", i, " is ", output.ToString()));
  }
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "scan"));
  const Shape& given = body->root()->shape();
  const size_t count = given.IsTuple() ? given.elements().size() : 1;
  if (count != c.op().results.size())
    return c.Error(
        absl::StrCat("its region gives ", given.ToString(), " for ", c.op().results.size(), " results"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results,
                         ReverseScan(c, body, static_cast<size_t>(sizes[0]), along->integer).Run());
  SHOAL_RETURN_IF_ERROR(c.FinishEach(results));
  return true;
}

// Whether HLO has the CHLO operation that a composite stands for, on these types. What it would need for
// complex numbers is written out in the decomposition.
absl::StatusOr<bool> ImportNative(OpImporter& c, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "chlo.") || c.operands().empty() || !c.operand_shape(0).IsArray())
    return false;
  if (name == "scan") return ImportReverseScan(c);
  if (IsComplex(c.operand_shape(0).element_type())) return false;
  if (name == "top_k") {
    const MlirAttribute* attributes = c.Find("composite_attributes");
    const MlirAttribute* k = attributes == nullptr ? nullptr : attributes->Find("k");
    const MlirAttribute* largest = attributes == nullptr ? nullptr : attributes->Find("largest");
    if (k == nullptr || k->kind != MlirAttributeKind::kInteger || c.operands().size() != 1) return false;
    TopKAttributes top{k->integer, largest == nullptr || largest->integer != 0};
    SHOAL_RETURN_IF_ERROR(c.Emit(Opcode::kTopK, c.operands(), top));
    return true;
  }
  absl::StatusOr<Opcode> opcode = ParseOpcode(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (!opcode.ok() || FamilyOf(*opcode) != OpFamily::kElementwise || OpcodeArity(*opcode) != 1) return false;
  if (c.operands().size() != 1 || c.op().results.size() != 1) return false;
  SHOAL_RETURN_IF_ERROR(c.Emit(*opcode, c.operands()));
  return true;
}

}  // namespace

absl::Status ImportComposite(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(absl::string_view name, c.Text("name"));
  if (!IsNamespacedName(name))
    return c.Error("C1", absl::StrCat("'", name, "' is not a name with its namespace"));
  SHOAL_ASSIGN_OR_RETURN(bool done, ImportNative(c, name));
  if (done) return absl::OkStatus();
  SHOAL_ASSIGN_OR_RETURN(absl::string_view decomposition, c.Text("decomposition"));
  SHOAL_ASSIGN_OR_RETURN(Computation * callee, c.importer().Function(decomposition));
  if (callee->parameters().size() != c.operands().size())
    return c.Error("C3", "its decomposition takes other arguments");
  for (size_t i = 0; i < c.operands().size(); ++i) {
    const Shape& taken = callee->parameter(static_cast<int64_t>(i))->shape();
    if (taken != c.operand_shape(i))
      return c.Error("C3", absl::StrCat("its decomposition takes ", taken.ToString(), " as argument ", i,
                                        ", not ", c.operand_shape(i).ToString()));
  }
  SHOAL_ASSIGN_OR_RETURN(Shape results, c.ResultsShape());
  if (callee->root()->shape() != results)
    return c.Error("C4", absl::StrCat("its decomposition gives ", callee->root()->shape().ToString(),
                                      ", not ", results.ToString()));
  return c.Emit(Opcode::kCall, c.operands(), {}, {callee});
}

}  // namespace shoal
