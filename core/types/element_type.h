// The element types of arrays: what StableHLO, HLO and PJRT call them, how wide they are.
//
// In memory an element takes ByteWidth bytes: pred and the sub-byte types one whole byte each (JAX
// keeps them unpacked on the host too; sub-byte integers sign- or zero-extended in their byte).
#pragma once

#include <cstdint>
#include <ostream>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/types/element_type_list.h"

namespace shoal {

enum class ElementType : uint8_t {
#define SHOAL_ENUM(name, text, bits, cls, number, mlir) name,
  SHOAL_ELEMENT_TYPE_LIST(SHOAL_ENUM)
#undef SHOAL_ENUM
};

enum class ElementClass : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex, kOpaque };

absl::string_view ElementTypeName(ElementType type);  // HLO's word: "f32"
absl::string_view MlirTypeName(ElementType type);     // StableHLO's word: "ui8", "complex<f32>"
absl::StatusOr<ElementType> ParseElementType(absl::string_view hlo_name);
absl::StatusOr<ElementType> ParseMlirType(absl::string_view mlir_name);
// XLA's PrimitiveType number. (PJRT_Buffer_Type has its own numbers: plugin/api maps those.)
int XlaNumber(ElementType type);
absl::StatusOr<ElementType> ElementTypeFromXlaNumber(int number);
absl::Span<const ElementType> AllElementTypes();

int BitWidth(ElementType type);   // 1 for pred, 4 for s4, 128 for c128, 0 for token
int ByteWidth(ElementType type);  // bytes of one element in memory: 1 for pred and s4
ElementClass ClassOf(ElementType type);
inline bool IsFloat(ElementType type) { return ClassOf(type) == ElementClass::kFloat; }
// Floats that are computed in f32.
inline bool IsNarrowFloat(ElementType type) { return IsFloat(type) && BitWidth(type) < 32; }
inline bool IsComplex(ElementType type) { return ClassOf(type) == ElementClass::kComplex; }
inline bool IsSigned(ElementType type) { return ClassOf(type) == ElementClass::kSigned; }
inline bool IsUnsigned(ElementType type) { return ClassOf(type) == ElementClass::kUnsigned; }
inline bool IsInteger(ElementType type) { return IsSigned(type) || IsUnsigned(type); }
// f32 for c64, f64 for c128, otherwise the type itself.
ElementType RealPart(ElementType type);

std::ostream& operator<<(std::ostream& out, ElementType type);

}  // namespace shoal
