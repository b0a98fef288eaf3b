#include "collectives/reduce/stream_copy.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace shoal {
namespace {

constexpr int64_t kLine = 64;
// Shorter pieces are not worth their ragged ends.
constexpr int64_t kShortest = 4096;

}  // namespace

void CopyThroughCaches(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, bytes); }

void CopyPastCaches(void* to, const void* from, int64_t bytes) {
  char* target = static_cast<char*>(to);
  const char* source = static_cast<const char*>(from);
  int64_t at = 0;
#if defined(__SSE2__)
  if (bytes >= kShortest) {
    at = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) & (kLine - 1));
    std::memcpy(target, source, at);
    for (; at + kLine <= bytes; at += kLine) {
      __m128i line[4];
      std::memcpy(line, source + at, sizeof(line));
      for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(target + at) + i, line[i]);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(target + at, source + at, bytes - at);
}

}  // namespace shoal
