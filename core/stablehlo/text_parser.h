// TextParser: types and attributes of MLIR text. text_reader.cc builds operations on it.
//
// All functions report failures to the scanner and then return null (or a default), so a caller may go on and
// look at ok() where it matters.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/stablehlo/mlir_ir.h"
#include "core/stablehlo/text_scanner.h"

namespace shoal {

class TextParser {
 public:
  TextParser(absl::string_view text, MlirModule* module) : scan_(text), module_(module) {}

  TextScanner& scan() { return scan_; }
  MlirModule* module() { return module_; }
  bool ok() const { return scan_.ok(); }
  // Notes where the aliases (#name = ..., !name = ...) and resources of the whole text are defined. They may
  // be used before.
  void CollectAliases();

  MlirType* Type();
  // `default_type` is what a number without a type gets; null: i64 and f64.
  MlirAttribute* Attribute(const MlirType* default_type = nullptr);
  // {a = 1, b}; the '{' comes next.
  std::vector<MlirNamedAttribute> Dictionary();
  // loc(...), if it comes next; otherwise null.
  MlirAttribute* OptionalLocation();
  // @name or @"name": the name.
  absl::string_view SymbolName();
  absl::string_view QuotedText() { return module_->Keep(scan_.Quoted()); }

  // Parts of pretty forms.
  std::vector<int64_t> IntegerList();  // [1, [2, 3]], flattened
  MlirAttribute* ShardingBody();       // <@mesh, [{"x"}, {?}], replicated={"y"}>
  MlirAttribute* ShardingList();       // [<@mesh, [...]>, ...] as sdy.sharding_per_value
  MlirAttribute* MeshBody();           // <["x"=4], device_ids=[0, 1, 2, 3]>
  MlirAttribute* ManualAxesBody();     // {"x", "y"}
  // [b, 0, f]x[0, i, o]->[b, 0, f], as the attributes input_batch_dimension, ...
  std::vector<MlirNamedAttribute> ConvolutionDimensions();

  MlirAttribute* New(MlirAttributeKind kind) { return module_->NewAttribute(kind); }
  MlirAttribute* IntegerAttribute(int64_t value);
  MlirAttribute* IntegersAttribute(std::vector<int64_t> values);
  MlirAttribute* EnumAttribute(absl::string_view word);
  MlirAttribute* StringAttribute(absl::string_view text);

 private:
  // Counts how deep types and attributes nest; fails past the limit.
  class Nesting {
   public:
    explicit Nesting(TextParser* parser);
    ~Nesting() { --parser_->nesting_; }

   private:
    TextParser* parser_;
  };

  MlirType* ShapedType(absl::string_view word);
  MlirType* NamedType(absl::string_view word);
  MlirType* FunctionType();
  MlirType* DialectType();
  MlirType* QuantizedType();
  std::vector<const MlirType*> TypeList(absl::string_view close);
  MlirAttribute* AttributeUnchecked(const MlirType* default_type);
  MlirAttribute* Number(const MlirType* default_type);
  MlirAttribute* DialectAttribute();
  MlirAttribute* DialectBody(absl::string_view name, bool bracketed);
  MlirAttribute* Struct(absl::string_view name);
  MlirAttribute* DenseArray();
  MlirAttribute* Dense();
  MlirAttribute* DenseResource();
  void DenseTokens(std::vector<std::string>* tokens, bool* strings, int depth);
  std::string EncodeElements(const std::vector<std::string>& tokens, const MlirType& element);
  MlirAttribute* LocationBody();
  MlirAttribute* AliasedAttribute(absl::string_view name);
  MlirAttribute* AxisRef();
  MlirAttribute* AxisList();
  int64_t Factor();  // text_sharding_rule.cc
  MlirAttribute* FactorMappings();
  MlirAttribute* ShardingRuleBody();
  MlirAttribute* DimensionSharding();
  absl::string_view ResourceBytes(absl::string_view key);

  struct Alias {
    size_t position = 0;
    MlirAttribute* attribute = nullptr;
    MlirType* type = nullptr;
    bool reading = false;
  };

  TextScanner scan_;
  MlirModule* module_;
  int nesting_ = 0;
  absl::flat_hash_map<absl::string_view, Alias> attribute_aliases_;
  absl::flat_hash_map<absl::string_view, Alias> type_aliases_;
};

}  // namespace shoal
