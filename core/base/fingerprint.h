// Fingerprint: a number for a text that is the same in every process and build, which absl::Hash is not
// (FNV-1a, 64 bits). For keys and for noticing that two processes differ; not against somebody who wants a
// collision.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace shoal {

inline uint64_t Fingerprint(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The same for data of hundreds of megabytes: eight bytes at a time.
inline uint64_t FingerprintOfData(absl::string_view data) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;  // a product moves bits up only
  };
  for (size_t i = 0; i < data.size(); i += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, data.data() + i, data.size() - i < sizeof word ? data.size() - i : sizeof word);
    add(word);
  }
  add(data.size());
  return hash;
}

}  // namespace shoal
