// Operations whose pretty form is their own.
#include "absl/strings/str_cat.h"
#include "core/stablehlo/text_operations.h"

namespace shoal {

const OperationReader::FormRow OperationReader::kForms[] = {
    {"builtin.module", &OperationReader::ReadModule},
    {"func.func", &OperationReader::ReadFunction},
    {"func.return", &OperationReader::ReadReturn},
    {"stablehlo.return", &OperationReader::ReadReturn},
    {"sdy.return", &OperationReader::ReadReturn},
    {"func.call", &OperationReader::ReadCall},
    {"stablehlo.constant", &OperationReader::ReadConstant},
    {"sdy.constant", &OperationReader::ReadConstant},
    {"stablehlo.reduce", &OperationReader::ReadReduce},
    {"stablehlo.while", &OperationReader::ReadWhile},
    {"stablehlo.custom_call", &OperationReader::ReadCustomCall},
    {"stablehlo.composite", &OperationReader::ReadComposite},
    {"sdy.mesh", &OperationReader::ReadMesh},
    {"sdy.sharding_constraint", &OperationReader::ReadSharded},
    {"sdy.reshard", &OperationReader::ReadSharded},
    {"sdy.all_gather", &OperationReader::ReadSharded},
    {"sdy.all_reduce", &OperationReader::ReadSharded},
    {"sdy.all_slice", &OperationReader::ReadSharded},
    {"sdy.all_to_all", &OperationReader::ReadSharded},
    {"sdy.collective_permute", &OperationReader::ReadSharded},
    {"sdy.reduce_scatter", &OperationReader::ReadSharded},
    {"sdy.replicated_to_unreduced", &OperationReader::ReadSharded},
    {"sdy.sharded_to_unreduced", &OperationReader::ReadSharded},
    {"sdy.manual_computation", &OperationReader::ReadManualComputation},
    {"sdy.named_computation", &OperationReader::ReadNamedComputation},
    {"sdy.propagation_barrier", &OperationReader::ReadPropagationBarrier},
    {"sdy.sharding_group", &OperationReader::ReadShardingGroup},
    {absl::string_view(), nullptr},
};

// module @name attributes {...} { ... }
void OperationReader::ReadModule(MlirOperation* op) {
  if (scan_.Peek() == '@') {
    Put(op, "sym_name", parser_.StringAttribute(parser_.SymbolName()));
  }
  if (scan_.TakeWord("attributes")) OptionalDictionary(op);
  op->regions.push_back(ReadRegion({}, /*isolated=*/true));
}

// func.func public @main(%a: type {attrs}, ...) -> (type {attrs}, ...) attributes {...} { ... }
void OperationReader::ReadFunction(MlirOperation* op) {
  if (!scan_.TakeWord("public") && !scan_.TakeWord("private")) scan_.TakeWord("nested");
  Put(op, "sym_name", parser_.StringAttribute(parser_.SymbolName()));
  MlirAttribute* argument_attributes = parser_.New(MlirAttributeKind::kArray);
  MlirAttribute* result_attributes = parser_.New(MlirAttributeKind::kArray);
  scan_.Expect("(");
  const std::vector<Argument> arguments = ReadArguments(argument_attributes);
  if (scan_.Take("->")) {
    if (scan_.Take("(")) {
      while (parser_.ok() && !scan_.Take(")")) {
        if (!result_attributes->elements.empty()) scan_.Expect(",");
        parser_.Type();
        AddDictionary(result_attributes);
      }
    } else {
      parser_.Type();
    }
  }
  Put(op, "arg_attrs", argument_attributes);
  Put(op, "res_attrs", result_attributes);
  if (scan_.TakeWord("attributes")) OptionalDictionary(op);
  if (scan_.Peek() == '{') op->regions.push_back(ReadRegion(arguments, /*isolated=*/true));
}

// return %a, %b : type, type
void OperationReader::ReadReturn(MlirOperation* op) {
  OptionalDictionary(op);
  if (scan_.Peek() != '%') return;
  do {
    if (MlirValue* value = Operand()) op->operands.push_back(value);
  } while (scan_.Take(","));
  OptionalDictionary(op);
  scan_.Expect(":");
  do {
    parser_.Type();
  } while (parser_.ok() && scan_.Take(","));
}

// call @f(%a) : (type) -> type
void OperationReader::ReadCall(MlirOperation* op) {
  MlirAttribute* callee = parser_.New(MlirAttributeKind::kSymbol);
  callee->text = parser_.SymbolName();
  Put(op, "callee", callee);
  ReadArgumentsAndTypes(op);
}

void OperationReader::ReadArgumentsAndTypes(MlirOperation* op) {
  scan_.Expect("(");
  Operands(op, ")");
  OptionalDictionary(op);
  FunctionalResults(op);
}

// stablehlo.constant {attrs} dense<...> : type
void OperationReader::ReadConstant(MlirOperation* op) {
  OptionalDictionary(op);
  const MlirAttribute* value = parser_.Attribute();
  if (value == nullptr) return;
  Put(op, "value", value);
  if (value->type == nullptr) return scan_.Fail("a constant without a type");
  ResultType(op, value->type);
}

// stablehlo.reduce(%a init: %c), ... applies stablehlo.add across dimensions = [0] : (...) -> ..., or with
// "reducer(%x: t, %y: t) ... { ... }" at the end instead of "applies".
void OperationReader::ReadReduce(MlirOperation* op) {
  std::vector<MlirValue*> initial;
  do {
    scan_.Expect("(");
    if (MlirValue* value = Operand()) op->operands.push_back(value);
    if (!scan_.TakeWord("init")) scan_.Fail("'init' is expected");
    scan_.Expect(":");
    if (MlirValue* value = Operand()) initial.push_back(value);
    scan_.Expect(")");
  } while (parser_.ok() && scan_.Take(","));
  op->operands.insert(op->operands.end(), initial.begin(), initial.end());
  absl::string_view applied;
  const size_t position = scan_.position();
  if (scan_.TakeWord("applies")) applied = scan_.Word();
  if (!scan_.TakeWord("across") || !scan_.TakeWord("dimensions"))
    scan_.Fail("'across dimensions' is expected");
  scan_.Expect("=");
  Put(op, "dimensions", parser_.IntegersAttribute(parser_.IntegerList()));
  OptionalDictionary(op);
  FunctionalResults(op);
  if (!parser_.ok()) return;
  applied.empty() ? ReadReduceRegion(op) : ReadAppliedOperation(op, applied, position);
}

// The pairs of arguments are one accumulator and one element each; the block has all of the former first.
void OperationReader::ReadReduceRegion(MlirOperation* op) {
  if (!scan_.TakeWord("reducer")) return scan_.Fail("'reducer' is expected");
  std::vector<Argument> accumulators, elements;
  while (parser_.ok() && scan_.Take("(")) {
    const std::vector<Argument> pair = ReadArguments();
    if (pair.size() != 2) return scan_.Fail("two arguments are expected");
    accumulators.push_back(pair[0]);
    elements.push_back(pair[1]);
  }
  accumulators.insert(accumulators.end(), elements.begin(), elements.end());
  op->regions.push_back(ReadRegion(accumulators));
}

void OperationReader::ReadAppliedOperation(MlirOperation* op, absl::string_view applied, size_t position) {
  if (op->operands.size() != 2) return scan_.Fail("'applies' reduces one operand");
  const MlirType* type = op->operands[1]->type;
  MlirBlock* block = module_.NewBlock();
  MlirOperation* inner = module_.NewOperation();
  inner->name = applied;
  inner->offset = position;
  for (uint32_t i = 0; i < 2; ++i) {
    MlirValue* argument = module_.NewValue(type, i);
    argument->block = block;
    block->arguments.push_back(argument);
    inner->operands.push_back(argument);
  }
  ResultType(inner, type);
  MlirOperation* terminator = module_.NewOperation();
  terminator->name = "stablehlo.return";
  terminator->offset = position;
  terminator->operands = inner->results;
  block->operations = {inner, terminator};
  op->regions.push_back(module_.NewRegion());
  op->regions.back()->blocks.push_back(block);
}

// stablehlo.while(%x = %a, ...) : types attributes {...} cond { ... } do { ... }
void OperationReader::ReadWhile(MlirOperation* op) {
  std::vector<Argument> arguments;
  scan_.Expect("(");
  while (parser_.ok() && !scan_.Take(")")) {
    if (!arguments.empty()) scan_.Expect(",");
    Argument argument;
    argument.name = ValueName();
    scan_.Expect("=");
    MlirValue* value = Operand();
    if (value == nullptr) return;
    op->operands.push_back(value);
    argument.type = value->type;
    arguments.push_back(argument);
  }
  if (!arguments.empty()) {
    scan_.Expect(":");
    do {
      ResultType(op, parser_.Type());
    } while (parser_.ok() && scan_.Take(","));
  }
  if (scan_.TakeWord("attributes")) OptionalDictionary(op);
  for (const absl::string_view word : {"cond", "do"}) {
    if (!scan_.TakeWord(word)) scan_.Fail(absl::StrCat("'", word, "' is expected"));
    op->regions.push_back(ReadRegion(arguments));
  }
}

// stablehlo.custom_call @target(%a) {attrs} : (type) -> type
void OperationReader::ReadCustomCall(MlirOperation* op) {
  Put(op, "call_target_name", parser_.StringAttribute(parser_.SymbolName()));
  ReadArgumentsAndTypes(op);
}

// stablehlo.composite "name" %a, %b {composite_attributes = {...}, decomposition = @f} : (types) -> types
void OperationReader::ReadComposite(MlirOperation* op) {
  Put(op, "name", parser_.StringAttribute(parser_.QuotedText()));
  while (parser_.ok() && scan_.Peek() == '%') {
    if (MlirValue* value = Operand()) op->operands.push_back(value);
    if (!scan_.Take(",")) break;
  }
  OptionalDictionary(op);
  FunctionalResults(op);
}

// sdy.mesh @mesh = <["x"=4]>
void OperationReader::ReadMesh(MlirOperation* op) {
  Put(op, "sym_name", parser_.StringAttribute(parser_.SymbolName()));
  scan_.Expect("=");
  Put(op, "mesh", parser_.MeshBody());
  OptionalDictionary(op);
}

// sdy.reshard %a <@mesh, [{"x"}]> : type; sdy.all_gather [{"x"}] %a out_sharding=<@mesh, [{}]> : type
void OperationReader::ReadSharded(MlirOperation* op) {
  // Which axes are gathered, sliced or reduced follows from the two shardings.
  scan_.Word();
  if (scan_.Take("[")) scan_.SkipToClose(']');
  if (scan_.Take("{")) scan_.SkipToClose('}');
  if (MlirValue* value = Operand()) op->operands.push_back(value);
  const bool named = scan_.TakeWord("out_sharding");
  if (named) scan_.Expect("=");
  Put(op, named ? "out_sharding" : "sharding", parser_.ShardingBody());
  OptionalDictionary(op);
  scan_.Expect(":");
  ResultType(op, parser_.Type());
}

// sdy.manual_computation(%a) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%b: type) { ... } :
// (...) -> ...
void OperationReader::ReadManualComputation(MlirOperation* op) {
  scan_.Expect("(");
  Operands(op, ")");
  while (parser_.ok() && scan_.Peek() != '(') {
    const absl::string_view key = scan_.Word();
    scan_.Expect("=");
    if (key == "manual_axes") {
      Put(op, key, parser_.ManualAxesBody());
    } else if (key == "in_shardings" || key == "out_shardings") {
      Put(op, key, parser_.ShardingList());
    } else {
      return scan_.Fail("in_shardings, out_shardings or manual_axes is expected");
    }
  }
  scan_.Expect("(");
  const std::vector<Argument> arguments = ReadArguments();
  op->regions.push_back(ReadRegion(arguments, /*isolated=*/true));
  OptionalDictionary(op);
  FunctionalResults(op);
}

// sdy.named_computation<"name">(%a) in_shardings=[...] (%b: type) { ... } : (...) -> ...
void OperationReader::ReadNamedComputation(MlirOperation* op) {
  scan_.Expect("<");
  Put(op, "name", parser_.StringAttribute(parser_.QuotedText()));
  scan_.Expect(">");
  ReadManualComputation(op);
}

// sdy.propagation_barrier %a allowed_direction=FORWARD : type
void OperationReader::ReadPropagationBarrier(MlirOperation* op) {
  if (MlirValue* value = Operand()) op->operands.push_back(value);
  if (!scan_.TakeWord("allowed_direction")) scan_.Fail("'allowed_direction' is expected");
  scan_.Expect("=");
  Put(op, "allowed_direction", parser_.EnumAttribute(scan_.Word()));
  OptionalDictionary(op);
  scan_.Expect(":");
  ResultType(op, parser_.Type());
}

// sdy.sharding_group %a group_id=0 : type
void OperationReader::ReadShardingGroup(MlirOperation* op) {
  if (MlirValue* value = Operand()) op->operands.push_back(value);
  if (!scan_.TakeWord("group_id")) scan_.Fail("'group_id' is expected");
  scan_.Expect("=");
  Put(op, "group_id", parser_.Attribute());
  OptionalDictionary(op);
  scan_.Expect(":");
  parser_.Type();
}

}  // namespace shoal
