// FloatDefaults: for its scope, this thread computes as IEEE 754 says by default: it rounds to nearest and
// keeps subnormal numbers. A thread may come to Shoal otherwise: libraries that are built with -ffast-math
// and jaxlib make threads flush subnormal numbers to zero, and oneTBB hands the mode of the thread that made
// the arena on to its workers.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace shoal {

class FloatDefaults {
 public:
  FloatDefaults() : before_(Get()) {
    if ((before_ & kModes) != kDefault) Set((before_ & ~kModes) | kDefault);
  }
  ~FloatDefaults() {
    if ((before_ & kModes) != kDefault) Set(before_);
  }
  FloatDefaults(const FloatDefaults&) = delete;
  FloatDefaults& operator=(const FloatDefaults&) = delete;

 private:
#if defined(__x86_64__)
  // MXCSR but for the flags of what has happened: denormals are zero, exceptions' masks, rounding, flush to
  // zero.
  static constexpr uint64_t kModes = 0xffc0, kDefault = 0x1f80;
  static uint64_t Get() { return _mm_getcsr(); }
  static void Set(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  // FPCR: flush to zero of f32 and f64, of f16, default NaN, rounding.
  static constexpr uint64_t kModes = 0x7c80000, kDefault = 0;
  static uint64_t Get() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr uint64_t kModes = 0, kDefault = 0;
  static uint64_t Get() { return 0; }
  static void Set(uint64_t) {}
#endif
  const uint64_t before_;
};

}  // namespace shoal
