// StandardFloatMode: while one lives, its thread computes as IEEE 754 says: rounding to nearest, subnormal
// numbers kept. A program's numbers must not depend on the thread that happens to compute or fold them, and
// callers do change the mode: jaxlib compiles on threads that flush subnormals to zero, and a library that
// was linked with -ffast-math flushes them on the thread that loads it. New threads inherit the mode of the
// one that starts them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace shoal {

class StandardFloatMode {
 public:
#if defined(__x86_64__)
  // Writing the register takes longer than reading it, and it is nearly always right.
  StandardFloatMode() : before_(_mm_getcsr()), changed_((before_ & kModes) != 0) {
    if (changed_) _mm_setcsr(before_ & ~kModes);
  }
  ~StandardFloatMode() {
    if (changed_) _mm_setcsr(before_);
  }
  StandardFloatMode(const StandardFloatMode&) = delete;
  StandardFloatMode& operator=(const StandardFloatMode&) = delete;

 private:
  static constexpr uint32_t kModes = 0x8000 | 0x6000 | 0x0040;  // FTZ, rounding, DAZ
  const uint32_t before_;
  const bool changed_;
#else
  StandardFloatMode() {}
#endif
};

}  // namespace shoal
