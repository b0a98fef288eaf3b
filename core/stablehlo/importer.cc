#include "core/stablehlo/importer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/hlo/origin.h"
#include "core/stablehlo/import_sharding.h"
#include "core/stablehlo/quantized.h"

namespace shoal {
namespace {

// Regions within regions and calls within calls; each level takes a few stack frames.
constexpr int kMaxImportDepth = 500;

bool IsTerminator(const MlirOperation& op) {
  return op.name == "stablehlo.return" || op.name == "func.return" || op.name == "sdy.return";
}

// Operations that only declare something.
bool IsDeclaration(const MlirOperation& op) { return op.name == "sdy.mesh" || op.name == "func.func"; }

absl::Status At(const MlirOperation& op, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(op.name, " at byte ", op.offset, ": ", what));
}

absl::StatusOr<absl::string_view> SymbolName(const MlirOperation& op) {
  const MlirAttribute* name = op.Find("sym_name");
  if (name == nullptr) return At(op, "it has no name");
  return name->text;
}

absl::StatusOr<const MlirBlock*> SingleBlock(const MlirOperation& op, size_t region) {
  if (region >= op.regions.size()) return At(op, absl::StrCat("region ", region, " is missing"));
  if (op.regions[region]->blocks.size() != 1) {
    return At(op, absl::StrCat("region ", region, " has ", op.regions[region]->blocks.size(),
                               " blocks instead of one"));
  }
  return op.regions[region]->blocks[0];
}

int64_t IntegerAttribute(const MlirAttribute* attribute, int64_t otherwise) {
  return attribute != nullptr && attribute->kind == MlirAttributeKind::kInteger ? attribute->integer
                                                                                : otherwise;
}

// HLO names hold letters, digits, '_', '.' and '-'.
std::string HloName(absl::string_view name) {
  std::string out;
  for (char c : name.substr(0, name.find_last_not_of(": ") + 1)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
    out += plain ? c : '_';
  }
  return out;
}

Shape ResultsAsShape(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? shapes[0] : Shape::Tuple(std::move(shapes));
}

}  // namespace

bool IsMlirConstant(const MlirOperation* op) {
  return op != nullptr && (op->name == "stablehlo.constant" || op->name == "sdy.constant");
}

absl::StatusOr<Shape> ShapeOf(const MlirType& type) {
  switch (type.kind) {
    case MlirTypeKind::kToken:
      return Shape::Token();
    case MlirTypeKind::kTuple: {
      // Tuples of tuples may share parts and be much larger as shapes than as types.
      constexpr uint32_t kLargestNested = 4096;
      std::vector<Shape> elements;
      for (const MlirType* element : type.elements) {
        if (element->kind == MlirTypeKind::kTuple && type.weight > kLargestNested) {
          return absl::InvalidArgumentError(absl::StrCat("a tuple of tuples of ", type.weight, " parts"));
        }
        SHOAL_ASSIGN_OR_RETURN(elements.emplace_back(), ShapeOf(*element));
      }
      return Shape::Tuple(std::move(elements));
    }
    case MlirTypeKind::kFuture:  // its value: what starts it also ends it
      if (type.elements.size() != 1 || type.elements[0]->kind != MlirTypeKind::kTensor) break;
      return ShapeOf(*type.elements[0]);
    case MlirTypeKind::kTensor: {
      const MlirQuantization* quantization = type.elements[0]->quantization;
      if (type.elements[0]->kind != MlirTypeKind::kScalar && quantization == nullptr) break;
      for (int64_t dim : type.dims) {
        if (dim == kMlirDynamic) {
          return absl::UnimplementedError(
              absl::StrCat("the type ", ToString(type), " has a dynamic dimension"));
        }
      }
      SHOAL_RETURN_IF_ERROR(CheckedProduct(type.dims, 16).status());
      const ElementType element = quantization == nullptr ? type.elements[0]->element : quantization->storage;
      return Shape::Array(element, type.dims);
    }
    default:
      break;
  }
  return absl::UnimplementedError(absl::StrCat("the type ", ToString(type), " is not supported"));
}

absl::StatusOr<IntVector> IntsOf(const MlirAttribute& attribute) {
  IntVector values;
  switch (attribute.kind) {
    case MlirAttributeKind::kDenseArray:
      if (!attribute.data.empty()) break;
      return attribute.ints;
    case MlirAttributeKind::kArray:
      for (const MlirAttribute* element : attribute.elements) {
        if (element->kind != MlirAttributeKind::kInteger && element->kind != MlirAttributeKind::kBool) {
          return absl::InvalidArgumentError("a list of integers holds something else");
        }
        values.push_back(element->integer);
      }
      return values;
    case MlirAttributeKind::kDenseElements: {
      const bool is_index = attribute.type->elements[0]->kind == MlirTypeKind::kIndex;
      const ElementType element = is_index ? ElementType::kS64 : attribute.type->elements[0]->element;
      if (!IsInteger(element) && element != ElementType::kPred) break;
      const int64_t count = Product(attribute.type->dims);
      // A splat costs nothing to write; no list of equal integers is longer than a few ranks.
      constexpr int64_t kLongestSplat = 4096;
      if (attribute.splat && count > kLongestSplat) {
        return absl::InvalidArgumentError(absl::StrCat("a list of ", count, " equal integers"));
      }
      const int64_t stored = attribute.splat ? 1 : count;
      SHOAL_ASSIGN_OR_RETURN(
          Literal literal, Literal::FromBytes(Shape::Array(element, {stored}), std::string(attribute.data)));
      for (int64_t i = 0; i < count; ++i) values.push_back(literal.AsInt(attribute.splat ? 0 : i));
      return values;
    }
    default:
      break;
  }
  return absl::InvalidArgumentError("a list of integers was expected");
}

absl::Status Importer::Run() {
  SHOAL_RETURN_IF_ERROR(CollectSymbols());
  SHOAL_RETURN_IF_ERROR(ReadModuleAttributes());
  if (!functions_.contains("main")) return absl::InvalidArgumentError("the program has no function @main");
  SHOAL_ASSIGN_OR_RETURN(Computation * entry, Function("main"));
  module_->set_entry(entry);
  SHOAL_RETURN_IF_ERROR(ReadEntryAttributes(*functions_["main"].operation, entry));
  module_->RemoveUnreachableComputations();
  module_->SortComputations();
  return absl::OkStatus();
}

absl::Status Importer::CollectSymbols() {
  SHOAL_ASSIGN_OR_RETURN(const MlirBlock* body, SingleBlock(*tree_->top, 0));
  for (const MlirOperation* op : body->operations) {
    if (op->name == "func.func") {
      SHOAL_ASSIGN_OR_RETURN(absl::string_view name, SymbolName(*op));
      if (!functions_.try_emplace(name, FunctionState{op}).second)
        return At(*op, "a second function of this name");
    } else if (op->name == "sdy.mesh") {
      SHOAL_ASSIGN_OR_RETURN(absl::string_view name, SymbolName(*op));
      const MlirAttribute* mesh = op->Find("mesh");
      if (mesh == nullptr) return At(*op, "the mesh is missing");
      SHOAL_ASSIGN_OR_RETURN(meshes_[name], MeshOf(*mesh, name));
    } else {
      return At(*op, "not a function or a mesh, at the top of the program");
    }
  }
  return absl::OkStatus();
}

absl::Status Importer::ReadModuleAttributes() {
  ModuleConfig& config = module_->config();
  config.num_partitions =
      std::max(config.num_partitions, IntegerAttribute(tree_->top->Find("mhlo.num_partitions"), 1));
  config.num_replicas =
      std::max(config.num_replicas, IntegerAttribute(tree_->top->Find("mhlo.num_replicas"), 1));
  constexpr int64_t kMostDevices = 1 << 20;
  if (config.num_partitions < 1 || config.num_replicas < 1 || config.num_partitions > kMostDevices ||
      config.num_replicas > kMostDevices) {
    return absl::InvalidArgumentError(absl::StrCat("the program asks for ", config.num_replicas,
                                                   " replicas of ", config.num_partitions, " partitions"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Mesh>> Importer::MeshNamed(absl::string_view name) const {
  auto it = meshes_.find(name);
  if (it == meshes_.end()) return absl::InvalidArgumentError(absl::StrCat("there is no mesh @", name));
  return it->second;
}

absl::StatusOr<Computation*> Importer::Function(absl::string_view name) {
  auto it = functions_.find(name);
  if (it == functions_.end()) return absl::InvalidArgumentError(absl::StrCat("there is no function @", name));
  FunctionState& state = it->second;  // functions_ does not grow any more
  if (state.computation != nullptr) return state.computation;
  if (state.importing)
    return absl::InvalidArgumentError(absl::StrCat("the function @", name, " calls itself"));
  SHOAL_ASSIGN_OR_RETURN(const MlirBlock* block, SingleBlock(*state.operation, 0));
  state.importing = true;
  Computation* computation = module_->AddComputation(HloName(name));
  RegionImporter region(this, computation);
  SHOAL_RETURN_IF_ERROR(region.AddParameters(*block));
  SHOAL_RETURN_IF_ERROR(ReadParameterShardings(*state.operation, computation));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results, region.Import(*block));
  computation->set_root(results.size() == 1 ? results[0] : computation->AddTuple(results));
  state.computation = computation;
  return computation;
}

absl::StatusOr<std::vector<Sharding>> Importer::ShardingsIn(const MlirAttribute& attributes,
                                                            const Shape& shape) const {
  if (const MlirAttribute* sdy = attributes.Find("sdy.sharding")) return ShardingsOf(*sdy, *this);
  const MlirAttribute* gspmd = attributes.Find("mhlo.sharding");
  if (gspmd == nullptr) return std::vector<Sharding>();
  return ParseGspmdShardings(gspmd->text, shape, module_->config().num_partitions);
}

absl::Status Importer::ReadParameterShardings(const MlirOperation& function, Computation* computation) {
  const MlirAttribute* arguments = function.Find("arg_attrs");
  if (arguments == nullptr) return absl::OkStatus();
  const size_t count = std::min(arguments->elements.size(), computation->parameters().size());
  for (size_t i = 0; i < count; ++i) {
    Instruction* parameter = computation->parameter(static_cast<int64_t>(i));
    absl::StatusOr<std::vector<Sharding>> shardings =
        ShardingsIn(*arguments->elements[i], parameter->shape());
    if (!shardings.ok())
      return Annotate(shardings.status(), absl::StrCat("argument ", i, " of @", computation->name()));
    parameter->set_shardings(*std::move(shardings));
  }
  return absl::OkStatus();
}

// What the caller of the program has to know of an argument: memory, aliasing.
absl::Status Importer::ReadArgumentAttributes(const MlirAttribute& attributes, int64_t number,
                                              Computation* entry, size_t leaves) {
  ModuleConfig& config = module_->config();
  if (const MlirAttribute* output = attributes.Find("tf.aliasing_output")) {
    if (output->integer < 0 || static_cast<uint64_t>(output->integer) >= leaves) {
      return absl::InvalidArgumentError(
          absl::StrCat("it shares memory with result ", output->integer, " of ", leaves));
    }
    config.aliases.push_back({output->integer, number});
  }
  if (const MlirAttribute* donor = attributes.Find("jax.buffer_donor");
      donor != nullptr && donor->integer != 0) {
    config.donors.push_back(number);
  }
  if (const MlirAttribute* kind = attributes.Find("mhlo.memory_kind")) {
    config.parameter_memory_kinds.resize(entry->parameters().size());
    config.parameter_memory_kinds[number] = std::string(kind->text);
  }
  return absl::OkStatus();
}

absl::Status Importer::ReadResultAttributes(const MlirAttribute& attributes, size_t leaf, size_t leaves,
                                            const Shape& shape) {
  ModuleConfig& config = module_->config();
  SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, ShardingsIn(attributes, shape));
  if (!shardings.empty()) config.result_shardings.resize(leaves);
  for (size_t i = 0; i < shardings.size() && leaf + i < leaves; ++i) {
    config.result_shardings[leaf + i] = std::move(shardings[i]);
  }
  if (const MlirAttribute* kind = attributes.Find("mhlo.memory_kind")) {
    config.result_memory_kinds.resize(leaves);
    config.result_memory_kinds[leaf] = std::string(kind->text);
  }
  return absl::OkStatus();
}

absl::Status Importer::ReadEntryAttributes(const MlirOperation& function, Computation* entry) {
  if (const MlirAttribute* arguments = function.Find("arg_attrs")) {
    const size_t count = std::min(arguments->elements.size(), entry->parameters().size());
    const size_t leaves = entry->root()->shape().Leaves().size();
    for (size_t i = 0; i < count; ++i) {
      SHOAL_RETURN_IF_ERROR(
          Annotate(ReadArgumentAttributes(*arguments->elements[i], static_cast<int64_t>(i), entry, leaves),
                   absl::StrCat("argument ", i, " of @main")));
    }
  }
  const MlirAttribute* results = function.Find("res_attrs");
  if (results == nullptr) return absl::OkStatus();
  const Shape& shape = entry->root()->shape();
  const size_t leaves = shape.Leaves().size();
  const size_t count = results->elements.size();
  size_t leaf = 0;
  for (size_t i = 0; i < count && leaf < leaves; ++i) {
    if (count > 1 && (!shape.IsTuple() || i >= shape.elements().size())) break;
    const Shape& result = count == 1 ? shape : shape.element(static_cast<int64_t>(i));
    SHOAL_RETURN_IF_ERROR(Annotate(ReadResultAttributes(*results->elements[i], leaf, leaves, result),
                                   absl::StrCat("result ", i, " of @main")));
    leaf += result.IsTuple() ? result.Leaves().size() : 1;
  }
  return absl::OkStatus();
}

absl::Status RegionImporter::AddParameters(const MlirBlock& block, int64_t first) {
  for (const MlirValue* argument : block.arguments) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(*argument->type));
    Instruction* parameter =
        computation_.AddParameter(first++, std::move(shape), HloName(LocationName(argument->location)));
    Bind(argument, parameter);
  }
  return absl::OkStatus();
}

absl::StatusOr<Instruction*> RegionImporter::Lookup(const MlirValue* value, const MlirOperation& user) {
  auto it = values_.find(value);
  if (it != values_.end()) return it->second;
  if (!IsMlirConstant(value->owner))
    return At(user, "it uses a value that is not defined before it, or is out of its reach");
  OpImporter constant(value->owner, this, {});
  SHOAL_RETURN_IF_ERROR(FindImportFn("stablehlo.constant")(constant));
  it = values_.find(value);
  if (it == values_.end()) return At(user, "it uses a constant that has no value");
  return it->second;
}

absl::StatusOr<std::vector<Instruction*>> RegionImporter::Import(const MlirBlock& block) {
  if (importer_.depth_ >= kMaxImportDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("regions and calls are nested more than ", kMaxImportDepth, " deep"));
  }
  ++importer_.depth_;
  for (const MlirOperation* op : block.operations) {
    if (IsDeclaration(*op)) return At(*op, "it does not belong inside a function");
    std::vector<Instruction*> operands;
    operands.reserve(op->operands.size());
    for (const MlirValue* value : op->operands) {
      SHOAL_ASSIGN_OR_RETURN(operands.emplace_back(), Lookup(value, *op));
    }
    if (IsTerminator(*op)) {
      if (op != block.operations.back()) return At(*op, "it is not the last operation of its block");
      --importer_.depth_;
      return operands;
    }
    const ImportFn import = FindImportFn(op->name);
    if (import == nullptr)
      return absl::UnimplementedError(absl::StrCat("the operation ", op->name, " is not supported"));
    if (ComputesQuantized(*op)) {
      SHOAL_RETURN_IF_ERROR(ImportDequantized(*op, *this, std::move(operands), import));
      continue;
    }
    OpImporter context(op, this, std::move(operands));
    SHOAL_RETURN_IF_ERROR(import(context));
  }
  return absl::InvalidArgumentError("a block ends without a return");
}

absl::Status OpImporter::Error(absl::string_view what) const { return At(op_, what); }

absl::Status OpImporter::Error(absl::string_view label, absl::string_view what) const {
  return At(op_, absl::StrCat(label, ": ", what));
}

absl::Status OpImporter::NotSupported(absl::string_view what) const {
  return absl::UnimplementedError(absl::StrCat(op_.name, " at byte ", op_.offset, ": ", what));
}

absl::Status OpImporter::Expect(size_t operands, int results, size_t regions) const {
  if (operands_.size() != operands)
    return Error(absl::StrCat(operands_.size(), " operands instead of ", operands));
  if (results >= 0 && op_.results.size() != static_cast<size_t>(results)) {
    return Error(absl::StrCat(op_.results.size(), " results instead of ", results));
  }
  if (op_.regions.size() != regions)
    return Error(absl::StrCat(op_.regions.size(), " regions instead of ", regions));
  return absl::OkStatus();
}

absl::Status OpImporter::ExpectArray(size_t i) const {
  if (i < operands_.size() && operands_[i]->shape().IsArray()) return absl::OkStatus();
  return Error(absl::StrCat("operand ", i, " is not an array"));
}

absl::StatusOr<IntVector> OpImporter::Ints(absl::string_view name) const {
  const MlirAttribute* attribute = Find(name);
  if (attribute == nullptr) return Error(absl::StrCat("the attribute ", name, " is missing"));
  absl::StatusOr<IntVector> values = IntsOf(*attribute);
  if (!values.ok()) return Error(absl::StrCat("the attribute ", name, ": ", values.status().message()));
  return values;
}

absl::StatusOr<IntVector> OpImporter::IntsOr(absl::string_view name, size_t count, int64_t value) const {
  if (Find(name) == nullptr) return IntVector(count, value);
  return Ints(name);
}

absl::StatusOr<int64_t> OpImporter::Int(absl::string_view name) const {
  const MlirAttribute* attribute = Find(name);
  if (attribute == nullptr) return Error(absl::StrCat("the attribute ", name, " is missing"));
  if (attribute->kind != MlirAttributeKind::kInteger && attribute->kind != MlirAttributeKind::kBool) {
    return Error(absl::StrCat("the attribute ", name, " is not an integer"));
  }
  return attribute->integer;
}

absl::StatusOr<int64_t> OpImporter::IntOr(absl::string_view name, int64_t value) const {
  if (Find(name) == nullptr) return value;
  return Int(name);
}

absl::StatusOr<bool> OpImporter::BoolOr(absl::string_view name, bool value) const {
  const MlirAttribute* attribute = Find(name);
  if (attribute == nullptr) return value;
  if (attribute->kind == MlirAttributeKind::kUnit) return true;
  SHOAL_ASSIGN_OR_RETURN(int64_t number, Int(name));
  return number != 0;
}

absl::StatusOr<absl::string_view> OpImporter::Text(absl::string_view name) const {
  const MlirAttribute* attribute = Find(name);
  if (attribute == nullptr) return Error(absl::StrCat("the attribute ", name, " is missing"));
  if (attribute->kind != MlirAttributeKind::kEnum && attribute->kind != MlirAttributeKind::kString &&
      attribute->kind != MlirAttributeKind::kSymbol) {
    return Error(absl::StrCat("the attribute ", name, " is not a word"));
  }
  return attribute->text;
}

absl::StatusOr<absl::string_view> OpImporter::TextOr(absl::string_view name, absl::string_view value) const {
  if (Find(name) == nullptr) return value;
  return Text(name);
}

absl::StatusOr<Shape> OpImporter::ResultShape(size_t i) const {
  if (i >= op_.results.size()) return Error(absl::StrCat("result ", i, " is missing"));
  absl::StatusOr<Shape> shape = ShapeOf(*op_.results[i]->type);
  if (!shape.ok()) return Annotate(shape.status(), absl::StrCat(op_.name, " at byte ", op_.offset));
  return shape;
}

absl::StatusOr<Shape> OpImporter::ResultsShape() const {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < op_.results.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(shapes.emplace_back(), ResultShape(i));
  }
  return ResultsAsShape(std::move(shapes));
}

Instruction* OpImporter::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                             Attributes attributes, absl::Span<Computation* const> called) {
  Instruction* added = computation().Add(opcode, std::move(shape), operands, std::move(attributes), called);
  Origin origin{LocationName(op_.location), {}, 0};
  if (const MlirAttribute* file = FileLocation(op_.location)) {
    origin.file = file->data;
    origin.line = file->integer;
  }
  added->set_op_name(OriginText(origin));
  return added;
}

absl::Status OpImporter::Emit(Opcode opcode, absl::Span<Instruction* const> operands, Attributes attributes,
                              absl::Span<Computation* const> called) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ResultsShape());
  return Finish(Add(opcode, std::move(shape), operands, std::move(attributes), called),
                op_.results.size() != 1);
}

absl::Status OpImporter::Finish(Instruction* instruction, bool is_tuple) {
  std::vector<Sharding> shardings;
  if (const MlirAttribute* sdy = Find("sdy.sharding")) {
    SHOAL_ASSIGN_OR_RETURN(shardings, ShardingsOf(*sdy, importer()));
  } else if (const MlirAttribute* gspmd = Find("mhlo.sharding")) {
    SHOAL_ASSIGN_OR_RETURN(
        shardings, ParseGspmdShardings(gspmd->text, instruction->shape(), module().config().num_partitions));
  }
  if (!shardings.empty()) {
    // A loop also carries what it captures; nothing is said about that.
    const size_t leaves = instruction->shape().Leaves().size();
    if (shardings.size() <= leaves) {
      shardings.resize(leaves);
      instruction->set_shardings(std::move(shardings));
    } else if (leaves == 0) {
      // Of a call for its effect: where it runs.
      instruction->set_shardings(std::move(shardings));
    }
  }
  if (!is_tuple) {
    if (op_.results.size() == 1) region_.Bind(op_.results[0], instruction);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < op_.results.size(); ++i) {
    Instruction* element = computation().AddGetTupleElement(instruction, static_cast<int64_t>(i));
    element->set_op_name(instruction->op_name());
    region_.Bind(op_.results[i], element);
  }
  return absl::OkStatus();
}

absl::Status OpImporter::FinishEach(absl::Span<Instruction* const> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ResultShape(i));
    if (shape != values[i]->shape()) {
      return Error(absl::StrCat("result ", i, " is ", shape.ToString(), " where its value is ",
                                values[i]->shape().ToString()));
    }
    region_.Bind(op_.results[i], values[i]);
  }
  return absl::OkStatus();
}

absl::Status OpImporter::Alias(Instruction* value) { return FinishEach({value}); }

absl::StatusOr<Computation*> OpImporter::Body(size_t i, absl::string_view wish) {
  SHOAL_ASSIGN_OR_RETURN(const MlirBlock* block, SingleBlock(op_, i));
  Computation* body = module().AddComputation(HloName(wish));
  RegionImporter region(&importer(), body);
  SHOAL_RETURN_IF_ERROR(region.AddParameters(*block));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results, region.Import(*block));
  body->set_root(results.size() == 1 ? results[0] : body->AddTuple(results));
  return body;
}

}  // namespace shoal
