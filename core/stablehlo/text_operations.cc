#include "core/stablehlo/text_operations.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/bytecode_tables.h"

namespace shoal {
namespace {

constexpr size_t kMostResults = 1 << 20;

// Words that stand for operations of dialects whose prefix may be left out.
absl::string_view FullName(absl::string_view name) {
  if (name == "module") return "builtin.module";
  if (name == "return") return "func.return";
  if (name == "call") return "func.call";
  return name;
}

bool IsIsolated(absl::string_view name) {
  return name == "builtin.module" || name == "func.func" || name == "sdy.manual_computation" ||
         name == "sdy.named_computation" || name == "stablehlo.async_start";
}

}  // namespace

OperationReader::Form OperationReader::FindForm(absl::string_view name) {
  static const auto* const index = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, Form>();
    for (const FormRow* row = kForms; row->form != nullptr; ++row) map->emplace(row->name, row->form);
    return map;
  }();
  auto it = index->find(name);
  return it == index->end() ? nullptr : it->second;
}

MlirOperation* OperationReader::ReadTop() {
  scopes_.emplace_back();
  MlirBlock* block = module_.NewBlock();
  while (!scan_.AtEnd() && !scan_.Take("{-#")) {
    const char next = scan_.Peek();
    if (next == '#' || next == '!') {
      // An alias, which CollectAliases found.
      scan_.set_position(std::min(scan_.text().find('\n', scan_.position()), scan_.text().size()));
      continue;
    }
    if (MlirOperation* op = ReadOperation()) block->operations.push_back(op);
  }
  if (!parser_.ok()) return nullptr;
  if (block->operations.size() == 1 && block->operations[0]->name == "builtin.module")
    return block->operations[0];
  if (block->operations.empty()) {
    scan_.Fail("there is no module");
    return nullptr;
  }
  MlirOperation* top = module_.NewOperation();
  top->name = "builtin.module";
  top->regions.push_back(module_.NewRegion());
  top->regions[0]->blocks.push_back(block);
  return top;
}

absl::string_view OperationReader::ValueName() {
  scan_.Expect("%");
  return scan_.Suffix();
}

void OperationReader::Define(absl::string_view name, std::vector<MlirValue*> values) {
  if (!scopes_.back().values.try_emplace(name, std::move(values)).second) {
    scan_.Fail(absl::StrCat("the value %", name, " is defined twice"));
  }
}

MlirValue* OperationReader::Operand() {
  const absl::string_view name = ValueName();
  int64_t index = 0;
  if (scan_.PeekHere() == '#') {
    scan_.Take("#");
    index = scan_.Integer();
  }
  if (!parser_.ok()) return nullptr;
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto it = scopes_[i].values.find(name);
    if (it != scopes_[i].values.end()) {
      if (index >= 0 && index < static_cast<int64_t>(it->second.size())) return it->second[index];
      scan_.Fail(absl::StrCat("%", name, " stands for ", it->second.size(), " values, not for one numbered ",
                              index));
      return nullptr;
    }
    if (scopes_[i].isolated) break;
  }
  scan_.Fail(absl::StrCat("the value %", name, " is not defined here"));
  return nullptr;
}

void OperationReader::Operands(MlirOperation* op, absl::string_view close) {
  for (bool first = true; parser_.ok() && !scan_.Take(close); first = false) {
    if (!first) scan_.Expect(",");
    if (MlirValue* value = Operand()) op->operands.push_back(value);
  }
}

void OperationReader::Put(MlirOperation* op, absl::string_view name, const MlirAttribute* value) {
  if (value != nullptr) op->attributes.push_back({name, value});
}

void OperationReader::OptionalDictionary(MlirOperation* op) {
  if (scan_.Peek() != '{') return;
  std::vector<MlirNamedAttribute> entries = parser_.Dictionary();
  op->attributes.insert(op->attributes.end(), entries.begin(), entries.end());
}

void OperationReader::ResultType(MlirOperation* op, const MlirType* type) {
  if (type == nullptr) return;
  MlirValue* value = module_.NewValue(type, static_cast<uint32_t>(op->results.size()));
  value->owner = op;
  op->results.push_back(value);
}

void OperationReader::ResultTypes(MlirOperation* op, const std::vector<const MlirType*>& types) {
  for (const MlirType* type : types) ResultType(op, type);
}

void OperationReader::FunctionalResults(MlirOperation* op) {
  scan_.Expect(":");
  const MlirType* type = parser_.Type();
  if (type == nullptr) return;
  if (type->kind != MlirTypeKind::kFunction) return scan_.Fail("a type (...) -> ... is expected");
  ResultTypes(op, type->results);
}

void OperationReader::DefineResults(MlirOperation* op,
                                    const std::vector<std::pair<absl::string_view, int64_t>>& names) {
  size_t next = 0;
  for (const auto& [name, count] : names) {
    const size_t left = op->results.size() - next;
    if (static_cast<size_t>(count) > left) break;
    const auto begin = op->results.begin() + static_cast<int64_t>(next);
    Define(name, std::vector<MlirValue*>(begin, begin + count));
    next += static_cast<size_t>(count);
  }
  if (!names.empty() && expected_results_ != op->results.size()) {
    scan_.Fail(absl::StrCat(op->name, " has ", op->results.size(), " results where ", expected_results_,
                            " are named"));
  }
}

MlirOperation* OperationReader::ReadOperation() {
  std::vector<std::pair<absl::string_view, int64_t>> names;
  size_t expected = 0;
  if (scan_.Peek() == '%') {
    do {
      const absl::string_view name = ValueName();
      const int64_t count = scan_.Take(":") ? scan_.Integer() : 1;
      if (count < 0 || expected + static_cast<size_t>(count) > kMostResults)
        scan_.Fail("a wrong number of results");
      if (!parser_.ok()) return nullptr;
      expected += static_cast<size_t>(count);
      names.emplace_back(name, count);
    } while (scan_.Take(","));
    scan_.Expect("=");
  }
  MlirOperation* op = module_.NewOperation();
  const bool generic = scan_.Peek() == '"';
  op->offset = scan_.position();
  op->name = generic ? parser_.QuotedText() : FullName(scan_.Word());
  if (op->name.empty()) scan_.Fail("an operation is expected");
  expected_results_ = expected;
  if (parser_.ok()) generic ? ReadGeneric(op) : ReadPretty(op);
  if (!parser_.ok()) return nullptr;
  if (op->location == nullptr) op->location = parser_.OptionalLocation();
  Flatten(op);
  expected_results_ = expected;
  DefineResults(op, names);
  return op;
}

void OperationReader::ReadPretty(MlirOperation* op) {
  const Form form = FindForm(op->name);
  form == nullptr ? ReadItems(op) : (this->*form)(op);
}

// "name"(%a, %b)[^successors] <{properties}> ({region}, ...) {attributes} : (types) -> types
void OperationReader::ReadGeneric(MlirOperation* op) {
  scan_.Expect("(");
  Operands(op, ")");
  if (scan_.Take("[")) scan_.SkipToClose(']');
  if (scan_.Take("<")) {
    OptionalDictionary(op);
    scan_.Expect(">");
  }
  if (scan_.Take("(")) {
    while (parser_.ok() && !scan_.Take(")")) {
      if (!op->regions.empty()) scan_.Expect(",");
      op->regions.push_back(ReadRegion({}, IsIsolated(op->name)));
    }
  }
  OptionalDictionary(op);
  FunctionalResults(op);
}

void OperationReader::AddDictionary(MlirAttribute* list) {
  MlirAttribute* attributes = parser_.New(MlirAttributeKind::kDictionary);
  if (scan_.Peek() == '{') attributes->entries = parser_.Dictionary();
  list->elements.push_back(attributes);
}

std::vector<OperationReader::Argument> OperationReader::ReadArguments(MlirAttribute* attributes) {
  std::vector<Argument> arguments;
  while (parser_.ok() && !scan_.Take(")")) {
    if (!arguments.empty()) scan_.Expect(",");
    Argument argument;
    argument.name = ValueName();
    scan_.Expect(":");
    argument.type = parser_.Type();
    if (attributes != nullptr) AddDictionary(attributes);
    argument.location = parser_.OptionalLocation();
    if (argument.type != nullptr) arguments.push_back(argument);
  }
  return arguments;
}

void OperationReader::AddArguments(MlirBlock* block, const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    MlirValue* value = module_.NewValue(argument.type, static_cast<uint32_t>(block->arguments.size()));
    value->block = block;
    value->location = argument.location;
    block->arguments.push_back(value);
    Define(argument.name, {value});
  }
}

void OperationReader::ReadBlockBody(MlirBlock* block) {
  while (parser_.ok() && scan_.Peek() != '}' && scan_.Peek() != '^') {
    if (MlirOperation* op = ReadOperation()) block->operations.push_back(op);
  }
}

// { operations }, or blocks that begin with ^label(%a: type):
MlirRegion* OperationReader::ReadRegion(const std::vector<Argument>& arguments, bool isolated) {
  MlirRegion* region = module_.NewRegion();
  if (scopes_.size() > kMaxNesting)
    scan_.Fail(absl::StrCat("regions nested more than ", kMaxNesting, " deep"));
  scan_.Expect("{");
  if (!parser_.ok()) return region;
  scopes_.emplace_back().isolated = isolated;
  if (scan_.Peek() != '^' || !arguments.empty()) {
    MlirBlock* block = module_.NewBlock();
    region->blocks.push_back(block);
    AddArguments(block, arguments);
    ReadBlockBody(block);
  }
  while (parser_.ok() && scan_.Take("^")) {
    scan_.Suffix();
    MlirBlock* block = module_.NewBlock();
    region->blocks.push_back(block);
    if (scan_.Take("(")) AddArguments(block, ReadArguments());
    scan_.Expect(":");
    ReadBlockBody(block);
  }
  scan_.Expect("}");
  scopes_.pop_back();
  return region;
}

void OperationReader::Flatten(MlirOperation* op) {
  std::vector<MlirNamedAttribute> flat;
  for (const MlirNamedAttribute& entry : op->attributes) {
    const bool spread = entry.name == "dot_dimension_numbers" || entry.name == "dimension_numbers" ||
                        entry.name == "scatter_dimension_numbers" || entry.name == "channel_handle";
    if (!spread || entry.value->kind != MlirAttributeKind::kRecord) {
      flat.push_back(entry);
      continue;
    }
    for (const MlirNamedAttribute& part : entry.value->entries) {
      // As the bytecode calls them.
      const bool channel = entry.name == "channel_handle";
      flat.push_back({!channel                ? part.name
                      : part.name == "handle" ? "channel_id"
                      : part.name == "type"   ? "channel_type"
                                              : part.name,
                      part.value});
    }
  }
  op->attributes = std::move(flat);
}

}  // namespace shoal
