// Origin: what Instruction::op_name() says, taken apart. It is one text, so that every pass hands it on as it
// is:
//
//   jit(step)/dot_general at /home/me/train.py:41
//
// A stage that makes instructions for an operation may add to the name what they are for
// ("…/dot_general/gather"). Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal {

struct Origin {
  absl::string_view name;  // JAX's: the functions around the operation, and the operation
  absl::string_view file;  // where the user wrote it; empty if nobody knows
  int64_t line = 0;
};

// Views into `text`.
Origin ParseOrigin(absl::string_view text);
std::string OriginText(const Origin& origin);
// The operation and the file, without what is around them: "dot_general at train.py:41". Empty for an empty
// text.
std::string ShortOrigin(absl::string_view text);
// `text` with "/part" after its name.
std::string WithNamePart(absl::string_view text, absl::string_view part);

}  // namespace shoal
