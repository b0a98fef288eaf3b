// Literals as HLO text: "1.5", "{1, 2}", "{ {1, 2}, {3, 4} }", "(1, -2)" for a complex number,
// "nan(0x7fc00001)" for a NaN with bits of its own, and "0x..." in quotes (the bytes of all elements) for
// long arrays.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/hlo/text_cursor.h"
#include "core/types/literal.h"

namespace shoal {

// Arrays of more than `max_elements` are written as bytes.
std::string LiteralToText(const Literal& literal, int64_t max_elements);
// Reads a literal of `shape`, an array; InvalidArgument with its place otherwise.
absl::StatusOr<Literal> LiteralFromText(const Shape& shape, TextCursor& cursor);

}  // namespace shoal
