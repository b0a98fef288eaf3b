// Vectors for hand-written loops, as the compiler's vector extension has them, and what the sources that are
// compiled once for each kind of CPU need.
//
// Such a source (name_baseline.cc, name_avx2.cc: one line each beside its header name_lanes.h) must call
// nothing that other sources also instantiate: the linker keeps one copy of an inline function, and that
// could be the one with AVX2 in it. So: plain arrays and pointers, and everything in an unnamed namespace.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#define SHOAL_HAS_AVX2_SOURCES 1
#else
#define SHOAL_HAS_AVX2_SOURCES 0
#endif

namespace shoal {

// Whether the sources compiled for AVX2 and FMA run here.
inline bool CpuHasAvx2() {
#if SHOAL_HAS_AVX2_SOURCES
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

}  // namespace shoal

namespace {

template <class T, int W>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * W), aligned(sizeof(T) * W)));
  typedef T unaligned __attribute__((vector_size(sizeof(T) * W), aligned(sizeof(T)), may_alias));
};

}  // namespace
