#include "core/stablehlo/dense_elements.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

std::string UnpackBits(absl::string_view packed, size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>((packed[i / 8] >> (i % 8)) & 1);
  return bytes;
}

// A splat of true is 0xFF; otherwise eight elements share a byte (older writers: one byte each).
absl::string_view UnpackBooleans(absl::string_view blob, size_t count, MlirModule* module) {
  constexpr absl::string_view kFalse("\0", 1), kTrue("\1", 1);
  if (blob.size() == 1 && static_cast<uint8_t>(blob[0]) == 0xFF) return kTrue;
  if (blob.size() == (count + 7) / 8 && blob.size() != count) return module->Keep(UnpackBits(blob, count));
  if (count == 1 && blob.size() == 1) return blob[0] & 1 ? kTrue : kFalse;
  return blob;
}

}  // namespace

absl::StatusOr<MlirAttribute*> MakeDenseElements(const MlirType& type, absl::string_view blob,
                                                 MlirModule* module) {
  const bool is_tensor = type.kind == MlirTypeKind::kTensor;
  const bool is_index = is_tensor && type.elements[0]->kind == MlirTypeKind::kIndex;
  if (!is_index && (!is_tensor || type.elements[0]->kind != MlirTypeKind::kScalar)) {
    return absl::InvalidArgumentError(absl::StrCat("a constant of type ", ToString(type)));
  }
  const ElementType element = is_index ? ElementType::kS64 : type.elements[0]->element;
  absl::StatusOr<int64_t> product = CheckedProduct(type.dims, 16);
  if (!product.ok()) return Annotate(product.status(), absl::StrCat("a constant of type ", ToString(type)));
  const auto count = static_cast<size_t>(Product(type.dims));
  const auto width = static_cast<size_t>(ByteWidth(element));
  MlirAttribute* attribute = module->NewAttribute(MlirAttributeKind::kDenseElements);
  attribute->type = &type;
  attribute->data = element == ElementType::kPred ? UnpackBooleans(blob, count, module) : blob;
  attribute->splat = attribute->data.size() == width && count != 1;
  if (!attribute->splat && attribute->data.size() != count * width) {
    return absl::InvalidArgumentError(
        absl::StrCat("a constant of type ", ToString(type), " with ", blob.size(), " bytes"));
  }
  return attribute;
}

}  // namespace shoal
