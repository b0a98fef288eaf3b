// Fingerprint: a number for a text that is the same in every process and build, which absl::Hash is not
// (FNV-1a, 64 bits). For keys and for noticing that two processes differ; not against somebody who wants a
// collision.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace shoal {

inline uint64_t Fingerprint(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace shoal
