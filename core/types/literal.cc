#include "core/types/literal.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

// One byte per value: what others put above a narrow number's bits, or for true, is theirs to choose.
void KeepLowBits(ElementType type, std::string& bytes) {
  const int spare = 8 - BitWidth(type);
  if (ByteWidth(type) != 1 || spare == 0) return;
  for (char& c : bytes) {
    const auto high = static_cast<uint8_t>(static_cast<uint8_t>(c) << spare);
    if (type == ElementType::kPred) {
      c = c != 0;
    } else if (IsFloat(type) || !IsSigned(type)) {
      c = static_cast<char>(high >> spare);
    } else {
      c = static_cast<char>(static_cast<int8_t>(high) >> spare);
    }
  }
}

}  // namespace

Literal::Literal(Shape shape)
    : shape_(std::move(shape)),
      bytes_(std::make_shared<std::string>(static_cast<size_t>(shape_.ByteSize()), '\0')) {}

absl::StatusOr<Literal> Literal::FromBytes(Shape shape, std::string bytes) {
  if (!shape.IsArray() || static_cast<int64_t>(bytes.size()) != shape.ByteSize()) {
    return absl::InvalidArgumentError(absl::StrCat("a constant of ", shape.ToString(), " wants ",
                                                   shape.ByteSize(), " bytes, not ", bytes.size()));
  }
  KeepLowBits(shape.element_type(), bytes);
  Literal literal;
  literal.shape_ = std::move(shape);
  literal.bytes_ = std::make_shared<std::string>(std::move(bytes));
  return literal;
}

bool Literal::IsSplat() const {
  const size_t width = ByteWidth(shape_.element_type());
  return size_bytes() <= width || std::memcmp(data(), data() + width, size_bytes() - width) == 0;
}


int64_t Literal::AsInt(int64_t i) const {
  switch (ByteWidth(shape_.element_type())) {
    case 1:
      return IsSigned(shape_.element_type()) ? Get<int8_t>(i) : Get<uint8_t>(i);
    case 2:
      return IsSigned(shape_.element_type()) ? Get<int16_t>(i) : Get<uint16_t>(i);
    case 4:
      return IsSigned(shape_.element_type()) ? Get<int32_t>(i) : static_cast<int64_t>(Get<uint32_t>(i));
    default:
      return Get<int64_t>(i);
  }
}

double Literal::AsDouble(int64_t i) const {
  const ElementType type = shape_.element_type();
  switch (type) {
    case ElementType::kF32:
      return Get<float>(i);
    case ElementType::kF64:
      return Get<double>(i);
    case ElementType::kC64:
      return Get<std::pair<float, float>>(i).first;
    case ElementType::kC128:
      return Get<std::pair<double, double>>(i).first;
    case ElementType::kU64:
      return static_cast<double>(Get<uint64_t>(i));
    default:
      break;
  }
  if (!IsFloat(type)) return static_cast<double>(AsInt(i));
  return FloatFromBits(type, ByteWidth(type) == 1 ? Get<uint8_t>(i) : Get<uint16_t>(i));
}

}  // namespace shoal
