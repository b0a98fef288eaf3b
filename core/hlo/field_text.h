// The fields of attributes as HLO text, one by one: Text writes a value, Read reads it back. Inside core/hlo.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "core/hlo/attributes.h"
#include "core/hlo/text_cursor.h"

namespace shoal::field_text {

// Views on fields which XLA writes in one piece.
struct SliceRanges {  // {[0:4:1], [2:3]}
  IntVector &starts, &limits, &strides;
};
struct PadRanges {  // 0_1x2_3_1
  IntVector &low, &high, &interior;
};
struct OneDimension {  // iota_dimension=0
  IntVector& dimensions;
};
struct DimLabels {  // b01f_01io->b01f
  ConvolutionAttributes& conv;
};
struct OperandPrecision {  // {highest,highest}
  Precision& precision;
};
struct OutputAliases {  // {{0}: (1, {})}
  Pairs& pairs;
};
struct ApiVersion {  // API_VERSION_TYPED_FFI
  int64_t& number;
};
struct TotalOrder {  // type=TOTALORDER
  bool& value;
};

std::string Text(const Window& window);
std::string Text(int64_t value);
std::string Text(bool value);
std::string Text(const std::string& value);
std::string Text(const IntVector& value);
std::string Text(const Groups& groups);
std::string Text(const Pairs& pairs);
std::string Text(const std::vector<std::string>& words);
std::string Text(const std::vector<Sharding>& shardings);
std::string Text(const SliceRanges& ranges);
std::string Text(const PadRanges& ranges);
std::string Text(const OneDimension& one);
std::string Text(const DimLabels& labels);
std::string Text(const OperandPrecision& p);
std::string Text(const OutputAliases& aliases);
std::string Text(const ApiVersion& version);
std::string Text(const TotalOrder& total);
template <typename T>
  requires std::is_enum_v<T>
std::string Text(T value) {
  return std::string(EnumName(value));
}

// Values that were there before are kept in lists: start from an empty one.
absl::Status Read(TextCursor& c, int64_t& value);
absl::Status Read(TextCursor& c, bool& value);
absl::Status Read(TextCursor& c, std::string& value);
absl::Status Read(TextCursor& c, IntVector& value);
absl::Status Read(TextCursor& c, Groups& groups);
absl::Status Read(TextCursor& c, Pairs& pairs);
absl::Status Read(TextCursor& c, std::vector<std::string>& words);
absl::Status Read(TextCursor& c, SliceRanges& ranges);
absl::Status Read(TextCursor& c, PadRanges& ranges);
absl::Status Read(TextCursor& c, OneDimension& one);
absl::Status Read(TextCursor& c, OperandPrecision& p);
absl::Status Read(TextCursor& c, OutputAliases& aliases);
absl::Status Read(TextCursor& c, ApiVersion& version);
absl::Status Read(TextCursor& c, TotalOrder& total);
absl::Status Read(TextCursor& c, DimLabels& labels);
absl::Status Read(TextCursor& c, Window& window);
template <typename T>
  requires std::is_enum_v<T>
absl::Status Read(TextCursor& c, T& value) {
  return ParseEnum(c.Word(), value) ? absl::OkStatus() : c.Bad("unknown word");
}

}  // namespace shoal::field_text
