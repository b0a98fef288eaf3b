// What the families of core/ops share: how a broken constraint is told, and common checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/ops/shape_inference.h"

// SHOAL_OP_CHECK(op, "C9", a == b, "batch dimensions ", a, " and ", b, " differ");
#define SHOAL_OP_CHECK(op, label, condition, ...)                                    \
  do {                                                                               \
    if (!(condition)) return ::shoal::OpError(op, label, absl::StrCat(__VA_ARGS__)); \
  } while (false)

namespace shoal {

// "dot C9: `what`, in dot(f32[2,3], f32[3,5])", InvalidArgument.
absl::Status OpError(const OpView& op, absl::string_view label, absl::string_view what);
// All operands are arrays.
absl::Status CheckArrays(const OpView& op);
// There is a wanted shape, an array if `array`.
absl::Status CheckWanted(const OpView& op, bool array = true);
// Called computation `index` takes `parameters` and gives `result`. `label` is that of the constraint.
absl::Status CheckSignature(const OpView& op, absl::string_view label, int64_t index,
                            absl::Span<const Shape> parameters, const Shape& result);
// A reduction body of `n` values: (E0, ..., En-1, E0, ..., En-1) -> (E0, ..., En-1), scalars; gives the Ei.
absl::StatusOr<std::vector<ElementType>> ReductionTypes(const OpView& op, absl::string_view label,
                                                        int64_t index, int64_t n);

bool IsUnique(absl::Span<const int64_t> values);
bool InRange(absl::Span<const int64_t> values, int64_t end);  // 0 <= each < end
// `a` then `b`.
IntVector Concatenated(absl::Span<const int64_t> a, absl::Span<const int64_t> b);
bool Contains(absl::Span<const int64_t> values, int64_t value);
// "[1,2]"
std::string ListText(absl::Span<const int64_t> values);
// One shape as it is, several as a tuple.
Shape OneOrTuple(std::vector<Shape> shapes);

}  // namespace shoal
