#include "collectives/reduce/narrow.h"

#include <array>
#include <atomic>
#include <bit>
#include <memory>

#include "core/types/literal.h"

namespace shoal {
namespace {

void WidenBf16(const uint16_t* source, float* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) target[i] = std::bit_cast<float>(uint32_t{source[i]} << 16);
}

void NarrowBf16(const float* source, uint16_t* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(source[i]);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40;
    target[i] = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
}

// An f16 read as the top of an f32 is too small by 2^112 (the exponents' biases differ by 127 - 15); one
// exact multiplication mends that, subnormals included.
void WidenF16(const uint16_t* source, float* target, int64_t count) {
  constexpr float kScale = 0x1p112f;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = (uint32_t{source[i]} & 0x7fff) << 13;
    const uint32_t sign = (uint32_t{source[i]} & 0x8000) << 16;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * kScale);
    const uint32_t special = magnitude | 0x7f800000;
    target[i] = std::bit_cast<float>(sign | (magnitude >= (uint32_t{0x7c00} << 13) ? special : finite));
  }
}

// Normal numbers: rebias and round in integers. Below 2^-14 the last bit weighs 2^-24: adding 0.5 makes the
// float unit round there, and the sum's low bits are the answer.
void NarrowF16(const float* source, uint16_t* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(source[i]);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t normal = (magnitude - (uint32_t{112} << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    const uint32_t small =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
    uint32_t result = magnitude < (uint32_t{113} << 23) ? small : normal;
    if (magnitude >= 0x477ff000) result = 0x7c00;  // 65520 and more round to infinity
    if (magnitude > 0x7f800000) result = 0x7e00;
    target[i] = static_cast<uint16_t>(sign | result);
  }
}

// Of a float of 8 or 4 bits: the value of every pattern, and the pattern for the high half of every f32 whose
// last bit also says whether anything but zeros follows. Those 8 significant bits, so rounded to odd, are
// enough to round again to 5 or fewer as from the whole number. (A sum of 8 Mi f8 on four devices: 15 ms,
// with FloatToBits 181; of bf16 24.)
struct ByteTables {
  explicit ByteTables(ElementType type) {
    for (int bits = 0; bits < 256; ++bits) {
      const int masked = bits & ((1 << BitWidth(type)) - 1);
      values[bits] = static_cast<float>(FloatFromBits(type, masked));
    }
    for (uint32_t high = 0; high < patterns.size(); ++high)
      patterns[high] = static_cast<uint8_t>(FloatToBits(type, std::bit_cast<float>(high << 16)));
  }
  std::array<float, 256> values;
  std::array<uint8_t, 1 << 16> patterns;
};

const ByteTables& TableOf(ElementType type) {
  static std::array<std::atomic<const ByteTables*>, 256> tables{};
  std::atomic<const ByteTables*>& slot = tables[static_cast<int>(type)];
  if (const ByteTables* known = slot.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const ByteTables>(type);
  const ByteTables* other = nullptr;
  return slot.compare_exchange_strong(other, made.get()) ? *made.release() : *other;
}

}  // namespace

void WidenToFloat(ElementType type, const void* source, float* target, int64_t count) {
  if (type == ElementType::kBF16) return WidenBf16(static_cast<const uint16_t*>(source), target, count);
  if (type == ElementType::kF16) return WidenF16(static_cast<const uint16_t*>(source), target, count);
  const ByteTables& table = TableOf(type);
  const auto* bytes = static_cast<const uint8_t*>(source);
  for (int64_t i = 0; i < count; ++i) target[i] = table.values[bytes[i]];
}

void NarrowFromFloat(ElementType type, const float* source, void* target, int64_t count) {
  if (type == ElementType::kBF16) return NarrowBf16(source, static_cast<uint16_t*>(target), count);
  if (type == ElementType::kF16) return NarrowF16(source, static_cast<uint16_t*>(target), count);
  const ByteTables& table = TableOf(type);
  auto* bytes = static_cast<uint8_t*>(target);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(source[i]);
    bytes[i] = table.patterns[(bits >> 16) | ((bits & 0xffff) != 0 ? 1 : 0)];
  }
}

}  // namespace shoal
