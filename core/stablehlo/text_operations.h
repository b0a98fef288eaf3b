// OperationReader: operations, blocks and regions of MLIR text.
//
// The generic form ("stablehlo.add"(%a, %b) : (...) -> ...) is one function. Of the pretty forms, most are a
// list of operands and "key = value" items (text_items.cc has the keys); those with a form of their own have
// a function each in text_forms.cc. Values have to be defined before they are used, so their types are known
// and only the types of results are taken from the text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/stablehlo/text_parser.h"

namespace shoal {

class OperationReader {
 public:
  explicit OperationReader(TextParser* parser)
      : parser_(*parser), scan_(parser->scan()), module_(*parser->module()) {}

  // The whole text: one module, or the operations of one. Null after a failure.
  MlirOperation* ReadTop();

 private:
  using Form = void (OperationReader::*)(MlirOperation*);
  struct FormRow {
    absl::string_view name;
    Form form;
  };
  struct Argument {
    absl::string_view name;
    const MlirType* type = nullptr;
    const MlirAttribute* location = nullptr;
  };
  // Values of one region by name; a name may stand for several ("%0:2").
  struct Scope {
    absl::flat_hash_map<absl::string_view, std::vector<MlirValue*>> values;
    bool isolated = false;
  };

  static const FormRow kForms[];
  static Form FindForm(absl::string_view name);

  // text_operations.cc
  MlirOperation* ReadOperation();
  void ReadGeneric(MlirOperation* op);
  void ReadPretty(MlirOperation* op);
  MlirRegion* ReadRegion(const std::vector<Argument>& arguments = {}, bool isolated = false);
  void ReadBlockBody(MlirBlock* block);
  // %a: type {attrs} loc(...), ... up to ')'. `attributes` (null: there are none) gets a dictionary for each.
  std::vector<Argument> ReadArguments(MlirAttribute* attributes = nullptr);
  void AddArguments(MlirBlock* block, const std::vector<Argument>& arguments);
  void DefineResults(MlirOperation* op, const std::vector<std::pair<absl::string_view, int64_t>>& names);
  void Define(absl::string_view name, std::vector<MlirValue*> values);
  absl::string_view ValueName();  // %name
  MlirValue* Operand();
  void Operands(MlirOperation* op, absl::string_view close);  // separated by commas
  void OptionalDictionary(MlirOperation* op);
  void ResultType(MlirOperation* op, const MlirType* type);
  void ResultTypes(MlirOperation* op, const std::vector<const MlirType*>& types);
  // ": (...) -> ...": the results.
  void FunctionalResults(MlirOperation* op);
  void Put(MlirOperation* op, absl::string_view name, const MlirAttribute* value);
  // Structured attributes of StableHLO spread to vhlo's flat names.
  void Flatten(MlirOperation* op);

  // text_items.cc
  void ReadItems(MlirOperation* op);
  void ReadItemValue(MlirOperation* op, absl::string_view key);
  void ReadWord(MlirOperation* op, absl::string_view word);
  void ReadSliceRanges(MlirOperation* op);
  void ReadWindow(MlirOperation* op);
  std::vector<int64_t> ReadPairs();
  void ReadDotDimensions(MlirOperation* op, absl::string_view lhs, absl::string_view rhs);
  void ReadItemTypes(MlirOperation* op);

  // text_forms.cc
  void ReadModule(MlirOperation* op);
  void ReadFunction(MlirOperation* op);
  void ReadReturn(MlirOperation* op);
  void ReadCall(MlirOperation* op);
  void ReadConstant(MlirOperation* op);
  void ReadReduce(MlirOperation* op);
  void ReadReduceRegion(MlirOperation* op);
  void ReadAppliedOperation(MlirOperation* op, absl::string_view applied, size_t position);
  void ReadWhile(MlirOperation* op);
  void AddDictionary(MlirAttribute* list);        // {attrs}, or an empty one where there is none
  void ReadArgumentsAndTypes(MlirOperation* op);  // (%a, ...) {attrs} : (...) -> ...
  void ReadCustomCall(MlirOperation* op);
  void ReadComposite(MlirOperation* op);
  void ReadMesh(MlirOperation* op);
  void ReadSharded(MlirOperation* op);
  void ReadManualComputation(MlirOperation* op);
  void ReadNamedComputation(MlirOperation* op);
  void ReadPropagationBarrier(MlirOperation* op);
  void ReadShardingGroup(MlirOperation* op);

  TextParser& parser_;
  TextScanner& scan_;
  MlirModule& module_;
  std::vector<Scope> scopes_;
  size_t expected_results_ = 0;  // as many as the text names before the '='
};

}  // namespace shoal
