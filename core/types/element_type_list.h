// One line an element type: T(enum, HLO text, bits, class, XLA number, StableHLO text). Everything else about
// element types is derived from this list. The XLA numbers reach protos and the C API: never renumber.
#pragma once

#define SHOAL_ELEMENT_TYPE_LIST(T)                                   \
  T(kPred, "pred", 1, kBool, 1, "i1")                                \
  T(kS2, "s2", 2, kSigned, 26, "i2")                                 \
  T(kS4, "s4", 4, kSigned, 21, "i4")                                 \
  T(kS8, "s8", 8, kSigned, 2, "i8")                                  \
  T(kS16, "s16", 16, kSigned, 3, "i16")                              \
  T(kS32, "s32", 32, kSigned, 4, "i32")                              \
  T(kS64, "s64", 64, kSigned, 5, "i64")                              \
  T(kU2, "u2", 2, kUnsigned, 27, "ui2")                              \
  T(kU4, "u4", 4, kUnsigned, 22, "ui4")                              \
  T(kU8, "u8", 8, kUnsigned, 6, "ui8")                               \
  T(kU16, "u16", 16, kUnsigned, 7, "ui16")                           \
  T(kU32, "u32", 32, kUnsigned, 8, "ui32")                           \
  T(kU64, "u64", 64, kUnsigned, 9, "ui64")                           \
  T(kF4E2M1FN, "f4e2m1fn", 4, kFloat, 32, "f4E2M1FN")                \
  T(kF8E3M4, "f8e3m4", 8, kFloat, 29, "f8E3M4")                      \
  T(kF8E4M3, "f8e4m3", 8, kFloat, 28, "f8E4M3")                      \
  T(kF8E4M3FN, "f8e4m3fn", 8, kFloat, 20, "f8E4M3FN")                \
  T(kF8E4M3FNUZ, "f8e4m3fnuz", 8, kFloat, 25, "f8E4M3FNUZ")          \
  T(kF8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, kFloat, 23, "f8E4M3B11FNUZ") \
  T(kF8E5M2, "f8e5m2", 8, kFloat, 19, "f8E5M2")                      \
  T(kF8E5M2FNUZ, "f8e5m2fnuz", 8, kFloat, 24, "f8E5M2FNUZ")          \
  T(kF8E8M0FNU, "f8e8m0fnu", 8, kFloat, 33, "f8E8M0FNU")             \
  T(kBF16, "bf16", 16, kFloat, 16, "bf16")                           \
  T(kF16, "f16", 16, kFloat, 10, "f16")                              \
  T(kF32, "f32", 32, kFloat, 11, "f32")                              \
  T(kF64, "f64", 64, kFloat, 12, "f64")                              \
  T(kC64, "c64", 64, kComplex, 15, "complex<f32>")                   \
  T(kC128, "c128", 128, kComplex, 18, "complex<f64>")                \
  T(kToken, "token", 0, kOpaque, 17, "!stablehlo.token")
