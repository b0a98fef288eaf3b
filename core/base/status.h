// The two macros by which every Shoal function passes a failure on, and Annotate, which adds context.
//
// A failure is an absl::Status, made once, at the place that knows: with the names and numbers of both
// sides and what to do. Callers only add context. Nothing here throws or aborts.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

// `status` with "context: " before its message; OK stays OK. Payloads are kept.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace shoal

#define SHOAL_CONCAT_INNER(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_INNER(a, b)

// SHOAL_RETURN_IF_ERROR(Verify(module));
#define SHOAL_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                               \
    if (absl::Status shoal_status = (expr); !shoal_status.ok()) return shoal_status; \
  } while (false)

// SHOAL_ASSIGN_OR_RETURN(Shape shape, InferShape(op));
#define SHOAL_ASSIGN_OR_RETURN(lhs, expr) \
  SHOAL_ASSIGN_OR_RETURN_IMPL(SHOAL_CONCAT(shoal_or_, __LINE__), lhs, expr)
#define SHOAL_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = *std::move(result)
