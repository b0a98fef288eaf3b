#include "core/types/element_type.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

struct Row {
  ElementType type;
  absl::string_view name;
  int bits;
  ElementClass cls;
  int xla_number;
  absl::string_view mlir_name;
};

constexpr Row kRows[] = {
#define SHOAL_ROW(name, text, bits, cls, number, mlir) \
  {ElementType::name, text, bits, ElementClass::cls, number, mlir},
    SHOAL_ELEMENT_TYPE_LIST(SHOAL_ROW)
#undef SHOAL_ROW
};

constexpr ElementType kTypes[] = {
#define SHOAL_TYPE(name, text, bits, cls, number, mlir) ElementType::name,
    SHOAL_ELEMENT_TYPE_LIST(SHOAL_TYPE)
#undef SHOAL_TYPE
};

const Row& RowOf(ElementType type) { return kRows[static_cast<int>(type)]; }

}  // namespace

absl::string_view ElementTypeName(ElementType type) { return RowOf(type).name; }
absl::string_view MlirTypeName(ElementType type) { return RowOf(type).mlir_name; }
int XlaNumber(ElementType type) { return RowOf(type).xla_number; }
int BitWidth(ElementType type) { return RowOf(type).bits; }
int ByteWidth(ElementType type) { return (RowOf(type).bits + 7) / 8; }
ElementClass ClassOf(ElementType type) { return RowOf(type).cls; }
absl::Span<const ElementType> AllElementTypes() { return kTypes; }

absl::StatusOr<ElementType> ParseElementType(absl::string_view hlo_name) {
  for (const Row& row : kRows) {
    if (row.name == hlo_name) return row.type;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown element type \"", hlo_name, "\""));
}

absl::StatusOr<ElementType> ParseMlirType(absl::string_view mlir_name) {
  for (const Row& row : kRows) {
    if (row.mlir_name == mlir_name) return row.type;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown element type \"", mlir_name, "\""));
}

absl::StatusOr<ElementType> ElementTypeFromXlaNumber(int number) {
  for (const Row& row : kRows) {
    if (row.xla_number == number) return row.type;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown element type number ", number));
}

ElementType RealPart(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

std::ostream& operator<<(std::ostream& out, ElementType type) { return out << ElementTypeName(type); }

}  // namespace shoal
