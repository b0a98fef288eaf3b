#include "core/hlo/attributes.h"

#include <type_traits>

#include "absl/hash/hash.h"

namespace shoal {
namespace {

template <typename Enum>
struct EnumWord {
  Enum value;
  absl::string_view word;
};

constexpr EnumWord<ComparisonDirection> kDirections[] = {
    {ComparisonDirection::kEq, "EQ"}, {ComparisonDirection::kNe, "NE"}, {ComparisonDirection::kGe, "GE"},
    {ComparisonDirection::kGt, "GT"}, {ComparisonDirection::kLe, "LE"}, {ComparisonDirection::kLt, "LT"}};
constexpr EnumWord<RandomAlgorithm> kAlgorithms[] = {{RandomAlgorithm::kDefault, "rng_default"},
                                                     {RandomAlgorithm::kThreeFry, "rng_three_fry"},
                                                     {RandomAlgorithm::kPhilox, "rng_philox"}};
constexpr EnumWord<RandomDistribution> kDistributions[] = {{RandomDistribution::kUniform, "rng_uniform"},
                                                           {RandomDistribution::kNormal, "rng_normal"}};
constexpr EnumWord<FftType> kFftTypes[] = {
    {FftType::kFft, "FFT"}, {FftType::kIfft, "IFFT"}, {FftType::kRfft, "RFFT"}, {FftType::kIrfft, "IRFFT"}};
constexpr EnumWord<TransposeKind> kTransposes[] = {{TransposeKind::kNoTranspose, "NO_TRANSPOSE"},
                                                   {TransposeKind::kTranspose, "TRANSPOSE"},
                                                   {TransposeKind::kAdjoint, "ADJOINT"}};
constexpr EnumWord<Precision> kPrecisions[] = {
    {Precision::kDefault, "default"}, {Precision::kHigh, "high"}, {Precision::kHighest, "highest"}};
constexpr EnumWord<FusionKind> kFusionKinds[] = {
    {FusionKind::kLoop, "kLoop"}, {FusionKind::kReduce, "kInput"}, {FusionKind::kInPlace, "kOutput"}};

template <typename Enum, size_t n>
absl::string_view NameIn(const EnumWord<Enum> (&table)[n], Enum value) {
  for (const auto& row : table) {
    if (row.value == value) return row.word;
  }
  return "?";
}

template <typename Enum, size_t n>
bool FindIn(const EnumWord<Enum> (&table)[n], absl::string_view word, Enum& value) {
  for (const auto& row : table) {
    if (row.word != word) continue;
    value = row.value;
    return true;
  }
  return false;
}

// Hashes each field that ForEachField shows.
class FieldHasher {
 public:
  template <typename T>
  void operator()(const char*, const T& field) {
    hash_ = absl::HashOf(hash_, field);
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

// Compares fields in two walks: the first keeps their addresses, the second looks at the same field of the
// other.
template <typename T>
bool SameFields(const T& a, const T& b) {
  std::vector<const void*> of_a;
  a.ForEachField([&](const char*, const auto& field) { of_a.push_back(&field); });
  bool same = true;
  size_t i = 0;
  b.ForEachField([&](const char*, const auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    same = same && *static_cast<Field*>(of_a[i++]) == field;
  });
  return same;
}

}  // namespace

bool operator==(const Attributes& a, const Attributes& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& of_a) {
        using T = std::decay_t<decltype(of_a)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return true;
        } else {
          return SameFields(of_a, std::get<T>(b));
        }
      },
      a);
}

uint64_t HashOf(const Attributes& attributes) {
  FieldHasher hasher;
  hasher("", attributes.index());
  std::visit(
      [&](const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          value.ForEachField(hasher);
      },
      attributes);
  return hasher.hash();
}

absl::string_view EnumName(ComparisonDirection value) { return NameIn(kDirections, value); }
absl::string_view EnumName(RandomAlgorithm value) { return NameIn(kAlgorithms, value); }
absl::string_view EnumName(RandomDistribution value) { return NameIn(kDistributions, value); }
absl::string_view EnumName(FftType value) { return NameIn(kFftTypes, value); }
absl::string_view EnumName(TransposeKind value) { return NameIn(kTransposes, value); }
absl::string_view EnumName(Precision value) { return NameIn(kPrecisions, value); }
absl::string_view EnumName(FusionKind value) { return NameIn(kFusionKinds, value); }
bool ParseEnum(absl::string_view word, ComparisonDirection& value) {
  return FindIn(kDirections, word, value);
}
bool ParseEnum(absl::string_view word, RandomAlgorithm& value) { return FindIn(kAlgorithms, word, value); }
bool ParseEnum(absl::string_view word, RandomDistribution& value) {
  return FindIn(kDistributions, word, value);
}
bool ParseEnum(absl::string_view word, FftType& value) { return FindIn(kFftTypes, word, value); }
bool ParseEnum(absl::string_view word, TransposeKind& value) { return FindIn(kTransposes, word, value); }
bool ParseEnum(absl::string_view word, Precision& value) { return FindIn(kPrecisions, word, value); }
bool ParseEnum(absl::string_view word, FusionKind& value) { return FindIn(kFusionKinds, word, value); }

}  // namespace shoal
