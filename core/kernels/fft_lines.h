// FftPass: one-dimensional transforms along lines of an array, several lines at a time in the lanes of
// vectors.
//
// What generated code calls for fft: a program is a short list of passes (fft.h makes it), a pass is cut into
// units that may run at once. Fields are plain integers, for the code carries a pass as a constant.
#pragma once

#include <cstdint>

namespace shoal {

inline constexpr int64_t kFftUnit = 8;         // lines in a unit, whatever the vectors of the CPU are
inline constexpr int64_t kFftPairUnit = 4096;  // pairs of a line in a unit of kPassTangle and kPassUntangle

// Tangle and untangle are what FftLoad and FftStore call so, for lines that are transformed in parts: their
// own pass over all of an array. Each line's numbers k and length - k are a pair.
enum FftPassKind : int64_t { kPassLines, kPassTangle, kPassUntangle };

// What an element of a line is made from. Tangled: the half spectrum of a real line of even length 2 n
// becomes the spectrum of n complex numbers whose transform is that real line, pair by pair.
enum FftLoad : int64_t { kLoadComplex, kLoadReal, kLoadHermitian, kLoadTangled };
// Untangled: the opposite, n + 1 numbers from the transform of n pairs.
enum FftStore : int64_t { kStoreComplex, kStoreReal, kStoreUntangled };

// A line is (outer, mid, inner), in this order in the count of lines; its element k lies at
// outer * x_outer + mid * x_mid + inner * x_inner + k * x_step, counted in numbers of the array: real ones
// for kLoadReal and kStoreReal, else complex ones.
struct FftPass {
  int64_t kind = kPassLines;
  int64_t wide = 0;    // double, else float
  int64_t length = 1;  // of the complex transform
  int64_t load = kLoadComplex, store = kStoreComplex;
  int64_t from = 0, from_offset = 0, to = 0, to_offset = 0;  // buffers, and bytes from their begin
  int64_t outer = 1, mid = 1, inner = 1;
  int64_t from_outer = 0, from_mid = 0, from_inner = 0, from_step = 1;
  int64_t to_outer = 0, to_mid = 0, to_inner = 0, to_step = 1;
  int64_t stored = 1;  // results of a line that are wanted: the first ones
  // The inverse transform is the forward one of numbers whose parts are swapped, swapped again.
  int64_t swap_in = 0, swap_out = 0;
  // First part of a longer transform: result k of the line at column c = inner / twiddle_inner is multiplied
  // by w(twiddle_length, k * c). 0: no such thing.
  int64_t twiddle_length = 0, twiddle_inner = 1;
  int64_t divisor = 1;  // of the results

  int64_t lines() const { return outer * mid * inner; }
  int64_t pair_units() const { return (length / 2 + kFftPairUnit) / kFftPairUnit; }  // of a line
  int64_t units() const {
    return kind == kPassLines ? (lines() + kFftUnit - 1) / kFftUnit : lines() * pair_units();
  }
};

}  // namespace shoal

// Units [begin, end) of the FftPass at `pass`, on the buffers of a kernel (core/codegen/kernel.h).
extern "C" void shoal_fft_pass(const int64_t* pass, char* const* buffers, int64_t begin, int64_t end);

namespace shoal {

// Measured on Haswell-like cores: butterflies of a line, and moving it to the lanes and back.
double FftUnitCostNs(const FftPass& pass);

// The forward transform of one line of complex numbers, in and out different. For tables.
void TransformLine(int64_t length, const double* in, double* out);

// shoal_fft_pass for each kind of CPU.
using FftPassFunction = void (*)(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end);
void RunFftPassBaseline(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end);
void RunFftPassAvx2(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end);

}  // namespace shoal
