#include "plugin/lapack/call.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "plugin/ffi/attributes.h"
#include "plugin/lapack/arguments.h"
#include "plugin/lapack/kernels.h"

namespace shoal {
namespace {

constexpr absl::string_view kPrefix = "lapack_", kSuffix = "_ffi";
// LAPACK's letters, in the order of LapackRow::functions.
constexpr absl::string_view kLetters = "sdcz";
constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kF64, ElementType::kC64,
                                  ElementType::kC128};

class LapackCall : public CustomCall {
 public:
  LapackCall(CustomCallSite site, LapackAttributes attributes, LapackRoutine routine, LapackFunction function)
      : site_(std::move(site)), attributes_(std::move(attributes)), routine_(routine), function_(function) {}

  Future Start(const RunContext&, absl::Span<const void* const> operands,
               absl::Span<void* const> results) const override {
    LapackArguments arguments(site_, attributes_, routine_, operands, results);
    const int64_t batch = arguments.batch();
    for (int64_t item = 0; item < batch; ++item) {
      arguments.set_item(item);
      function_(arguments);
    }
    return Future();
  }

 private:
  const CustomCallSite site_;
  const LapackAttributes attributes_;
  const LapackRoutine routine_;
  const LapackFunction function_;
};

// Integers and booleans; others are left out.
LapackAttributes IntegersOf(const XLA_FFI_Attrs& attributes) {
  LapackAttributes values;
  for (int64_t i = 0; i < attributes.size; ++i) {
    if (attributes.types[i] != XLA_FFI_AttrType_SCALAR) continue;
    const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(attributes.attrs[i]);
    const absl::StatusOr<ElementType> type = ElementTypeFromXlaNumber(scalar.dtype);
    if (!type.ok() || IsFloat(*type) || IsComplex(*type)) continue;
    int64_t value = 0;
    std::memcpy(&value, scalar.value, static_cast<size_t>(ByteWidth(*type)));
    values[std::string(attributes.names[i]->ptr, attributes.names[i]->len)] = value;
  }
  return values;
}

// What the functions rely on.
absl::Status Check(const CustomCallSite& site, const LapackRow& row, const LapackAttributes& attributes,
                   size_t letter) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("custom call '", site.target, "': ", what));
  };
  const size_t results = letter < 2 ? row.real_results : row.complex_results;
  if (site.operands.size() != row.operands || site.results.size() != results) {
    return error(absl::StrCat(site.operands.size(), " operands and ", site.results.size(),
                              " results instead of ", row.operands, " and ", results));
  }
  for (const Shape& shape : site.operands) {
    if (!shape.IsArray() || shape.rank() < 1) return error(absl::StrCat("an operand is ", shape.ToString()));
  }
  if (site.operands[0].element_type() != kTypes[letter])
    return error(absl::StrCat("operand 0 is ", site.operands[0].ToString()));
  for (const std::string& name : row.attributes) {
    if (!attributes.contains(name)) return error(absl::StrCat("the attribute '", name, "' is missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CustomCall>> MakeLapackCall(const CustomCallSite& site) {
  absl::string_view name = site.target;
  if (!absl::ConsumePrefix(&name, kPrefix) || !absl::ConsumeSuffix(&name, kSuffix) || name.empty())
    return absl::NotFoundError("not LAPACK");
  const size_t letter = kLetters.find(name[0]);
  if (letter == absl::string_view::npos) return absl::NotFoundError("not LAPACK");
  for (absl::Span<const LapackRow> rows : {LapackFactorizations(), LapackEigenvalues()}) {
    for (const LapackRow& row : rows) {
      if (name.substr(1) != (letter < 2 ? row.real_name : row.complex_name)) continue;
      SHOAL_ASSIGN_OR_RETURN(const FfiAttributes parsed, FfiAttributes::Parse(site.backend_config));
      LapackAttributes attributes = IntegersOf(parsed.attrs());
      SHOAL_RETURN_IF_ERROR(Check(site, row, attributes, letter));
      absl::StatusOr<LapackRoutine> routine = LapackRoutine::Find(std::string(name));
      if (!routine.ok()) return Annotate(routine.status(), absl::StrCat("custom call '", site.target, "'"));
      return std::make_unique<LapackCall>(site, std::move(attributes), *routine, row.functions[letter]);
    }
  }
  return absl::NotFoundError("no such routine");
}

}  // namespace

void ServeLapack() {
  static const bool once = [] {
    CustomCallRegistry::Get().RegisterFallback(MakeLapackCall);
    CustomCallRegistry::Get().RegisterFallback(MakeKernelCall);
    return true;
  }();
  (void)once;
}

}  // namespace shoal
