#include "core/stablehlo/text_reader.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/stablehlo/text_operations.h"

namespace shoal {
namespace {

template <typename T>
absl::StatusOr<T*> Whole(TextParser& parser, T* node) {
  if (parser.ok() && !parser.scan().AtEnd()) parser.scan().Fail("more text than expected");
  SHOAL_RETURN_IF_ERROR(parser.scan().status());
  return node;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MlirModule>> ReadMlirText(absl::string_view text) {
  auto module = std::make_unique<MlirModule>();
  TextParser parser(text, module.get());
  parser.CollectAliases();
  MlirOperation* top = OperationReader(&parser).ReadTop();
  SHOAL_RETURN_IF_ERROR(parser.scan().status());
  module->top = top;
  return module;
}

absl::StatusOr<MlirAttribute*> ParseMlirAttributeText(absl::string_view text, MlirModule* module) {
  TextParser parser(text, module);
  MlirAttribute* attribute = parser.Attribute();
  return Whole(parser, attribute);
}

absl::StatusOr<MlirType*> ParseMlirTypeText(absl::string_view text, MlirModule* module) {
  TextParser parser(text, module);
  MlirType* type = parser.Type();
  return Whole(parser, type);
}

}  // namespace shoal
