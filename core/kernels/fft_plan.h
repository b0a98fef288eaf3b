// FftPlan: how a complex transform of one length is computed: its factors, and the roots of unity that they
// use.
//
// Lengths whose prime factors are all small are a chain of Stockham stages. Any other length is a convolution
// with a chirp (Bluestein), done by transforms of a longer smooth length. Plans and tables are made when
// first asked for and kept for the life of the process; the tables are plain arrays, so that the inner loops
// (fft_lanes.h) need no library code. Thread-safe.
//
// T is float or double. A complex number is two T, real part first. Roots are those of the forward transform:
// w(n, k) = exp(-2 pi i k / n).
#pragma once

#include <cstdint>

namespace shoal {

// The widest prime factor that has a stage of its own; a wider one costs more than Bluestein's convolution.
inline constexpr int64_t kMaxRadix = 47;

// Stage with radix r, where m = (what is left of the length) / r: for p < m and 0 < k < r the root
// w(r * m, p * k) at twiddles[(p * (r - 1) + k - 1) * 2]; `roots` are w(r, k) for radices without code of
// their own.
template <class T>
struct FftStage {
  int64_t radix = 1;
  const T* twiddles = nullptr;
  const T* roots = nullptr;
};

template <class T>
struct FftPlan {
  int64_t length = 1;
  int64_t stage_count = 0;  // 0 with a convolution, or for length 1
  const FftStage<T>* stages = nullptr;
  const FftPlan* convolution = nullptr;  // of the padded length; null where there are stages
  const T* chirp = nullptr;              // w(2 length, k * k), `length` of them
  const T* spectrum = nullptr;           // transform of the conjugate chirp, divided by the padded length
  // Complex numbers that a line of this plan needs twice: the length, or the padded one.
  int64_t work_length() const { return convolution == nullptr ? length : convolution->length; }
};

template <class T>
const FftPlan<T>& GetFftPlan(int64_t length);

// All roots of n from two tables of about sqrt(n): w(n, k) = coarse[k >> shift] * fine[k & mask].
template <class T>
struct FftRoots {
  int64_t shift = 0;
  const T* coarse = nullptr;
  const T* fine = nullptr;
};

template <class T>
const FftRoots<T>& GetFftRoots(int64_t n);

// The divisor of n that is nearest to its square root from below.
int64_t BalancedDivisor(int64_t n);

}  // namespace shoal
