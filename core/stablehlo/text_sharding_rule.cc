// #sdy.op_sharding_rule<([i, jk], [k])->([ij]) {i=8, j=2, k=4} reduction={k}, custom>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/stablehlo/text_parser.h"

namespace shoal {

// A factor's name: one of the letters i to z, and further ones are z_1, z_2, ...
int64_t TextParser::Factor() {
  const char letter = scan_.Peek();
  if (letter < 'i' || letter > 'z') {
    scan_.Fail("a factor, i to z, is expected");
    return 0;
  }
  scan_.Take(absl::string_view(&letter, 1));
  int64_t number = letter - 'i';
  if (letter == 'z' && scan_.PeekHere() == '_') {
    scan_.Take("_");
    number += scan_.Integer();
  }
  return number;
}

// ([i, jk], []): the factors of each dimension of each array.
MlirAttribute* TextParser::FactorMappings() {
  MlirAttribute* arrays = New(MlirAttributeKind::kArray);
  scan_.Expect("(");
  while (ok() && !scan_.Take(")")) {
    if (!arrays->elements.empty()) scan_.Expect(",");
    MlirAttribute* dims = New(MlirAttributeKind::kArray);
    scan_.Expect("[");
    while (ok() && !scan_.Take("]")) {
      if (!dims->elements.empty()) scan_.Expect(",");
      std::vector<int64_t> factors = {Factor()};
      while (ok() && scan_.Peek() >= 'i' && scan_.Peek() <= 'z') factors.push_back(Factor());
      MlirAttribute* dim = New(MlirAttributeKind::kRecord);
      dim->text = "sdy.dim_mapping";
      dim->entries.push_back({"factor_indices", IntegersAttribute(std::move(factors))});
      dims->elements.push_back(dim);
    }
    MlirAttribute* array = New(MlirAttributeKind::kRecord);
    array->text = "sdy.tensor_mapping";
    array->entries.push_back({"dim_mappings", dims});
    arrays->elements.push_back(array);
  }
  return arrays;
}

MlirAttribute* TextParser::ShardingRuleBody() {
  MlirAttribute* rule = New(MlirAttributeKind::kRecord);
  rule->text = "sdy.op_sharding_rule";
  rule->entries.push_back({"operand_mappings", FactorMappings()});
  scan_.Expect("->");
  rule->entries.push_back({"result_mappings", FactorMappings()});
  std::vector<int64_t> sizes;
  scan_.Expect("{");
  while (ok() && !scan_.Take("}")) {
    if (!sizes.empty()) scan_.Expect(",");
    if (Factor() != static_cast<int64_t>(sizes.size())) scan_.Fail("factors are expected in their order");
    scan_.Expect("=");
    sizes.push_back(scan_.Integer());
  }
  rule->entries.push_back({"factor_sizes", IntegersAttribute(std::move(sizes))});
  for (absl::string_view kind : {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    if (!scan_.TakeWord(kind)) continue;
    std::vector<int64_t> factors;
    scan_.Expect("=");
    scan_.Expect("{");
    while (ok() && !scan_.Take("}")) {
      if (!factors.empty()) scan_.Expect(",");
      factors.push_back(Factor());
    }
    rule->entries.push_back(
        {module_->Keep(absl::StrCat(kind, "_factors")), IntegersAttribute(std::move(factors))});
  }
  if (scan_.Take(",") && !scan_.TakeWord("custom")) scan_.Fail("'custom' is expected");
  return rule;
}

}  // namespace shoal
