#include "core/kernels/fft.h"

#include <algorithm>
#include <cmath>

#include "core/kernels/fft_plan.h"

namespace shoal {
namespace {

// Longer lines in all lanes leave the second-level cache: 64 bytes a place, twice.
constexpr int64_t kLongestLine = 8192;
constexpr int64_t kShortestCut = 64;  // below, a line alone is quick enough

struct Place {
  int64_t buffer = 0, offset = 0;
};
constexpr int64_t kScratch = 2;

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

class ProgramMaker {
 public:
  ProgramMaker(FftDirection direction, bool wide) : wide_(wide) {
    inverse_ = direction == FftDirection::kInverse || direction == FftDirection::kToReal;
  }

  // Complex lines of `n` numbers, `stride` apart, `outer` times `stride` of them; `from` may be `to`.
  void Complex(int64_t n, int64_t outer, int64_t stride, Place from, Place to) {
    if (!MustCut(n, outer * stride)) {
      FftPass pass = Pass(from, to, n);
      pass.outer = outer;
      pass.inner = stride;
      pass.from_outer = pass.to_outer = n * stride;
      pass.from_inner = pass.to_inner = 1;
      pass.from_step = pass.to_step = stride;
      pass.swap_in = pass.swap_out = inverse_;
      pass.divisor = inverse_ ? n : 1;
      program_.passes.push_back(pass);
      return;
    }
    const Place between = Scratch(n * outer * stride);
    Columns(n, outer, stride, from, between);
    Rows(n, outer, stride, between, to, n * stride, inverse_ ? n : 1);
  }

  // The last dimension, `n` real numbers to half a spectrum.
  void FromReal(int64_t n, int64_t outer, Place from, Place to) {
    const int64_t half = n / 2;
    if (n % 2 == 0 && MustCut(half, outer)) {
      const Place between = Scratch(half * outer);
      Columns(half, outer, 1, from, between);
      Rows(half, outer, 1, between, to, half + 1, 1);
      Pairs(kPassUntangle, half, outer, to, half + 1, to, half + 1);
      return;
    }
    FftPass pass = Pass(from, to, n % 2 == 0 ? half : n);
    pass.load = n % 2 == 0 ? kLoadComplex : kLoadReal;
    pass.store = n % 2 == 0 ? kStoreUntangled : kStoreComplex;
    pass.outer = outer;
    pass.from_outer = pass.length;
    pass.to_outer = pass.stored = half + 1;
    program_.passes.push_back(pass);
  }

  void ToReal(int64_t n, int64_t outer, Place from, Place to) {
    const int64_t half = n / 2;
    if (n % 2 == 0 && MustCut(half, outer)) {
      const Place between = Scratch(half * outer);
      Pairs(kPassTangle, half, outer, from, half + 1, between, half);
      Columns(half, outer, 1, between, between);
      Rows(half, outer, 1, between, to, half, n);
      return;
    }
    FftPass pass = Pass(from, to, n % 2 == 0 ? half : n);
    pass.load = n % 2 == 0 ? kLoadTangled : kLoadHermitian;
    pass.store = n % 2 == 0 ? kStoreComplex : kStoreReal;
    pass.outer = outer;
    pass.from_outer = half + 1;
    pass.to_outer = pass.length;
    pass.swap_in = pass.swap_out = 1;
    pass.divisor = n;
    program_.passes.push_back(pass);
  }

  // Memory that stays: what Scratch gives afterwards lies behind it.
  Place Keep(int64_t numbers) {
    const Place place = Scratch(numbers);
    kept_ = program_.scratch_bytes;
    return place;
  }

  FftProgram Finish() && { return std::move(program_); }

 private:
  static bool MustCut(int64_t n, int64_t lines) {
    const bool long_line = n > kLongestLine, few = lines < kFftUnit && n >= kShortestCut;
    return (long_line || few) && BalancedDivisor(n) >= 4;
  }

  FftPass Pass(Place from, Place to, int64_t length) const {
    FftPass pass;
    pass.wide = wide_;
    pass.length = pass.stored = length;
    pass.from = from.buffer;
    pass.from_offset = from.offset;
    pass.to = to.buffer;
    pass.to_offset = to.offset;
    return pass;
  }

  // Number (i1, i2) of each line, i1 < n1: transforms over i1, then the roots for (k1, i2).
  void Columns(int64_t n, int64_t outer, int64_t stride, Place from, Place to) {
    const int64_t n1 = BalancedDivisor(n), n2 = n / n1;
    FftPass pass = Pass(from, to, n1);
    pass.outer = outer;
    pass.inner = n2 * stride;
    pass.from_outer = pass.to_outer = n * stride;
    pass.from_inner = pass.to_inner = 1;
    pass.from_step = pass.to_step = n2 * stride;
    pass.swap_in = inverse_;
    pass.twiddle_length = n;
    pass.twiddle_inner = stride;
    program_.passes.push_back(pass);
  }

  // Number (k1, i2) of each line: transforms over i2; result k2 of it is number k1 + n1 k2.
  void Rows(int64_t n, int64_t outer, int64_t stride, Place from, Place to, int64_t to_outer,
            int64_t divisor) {
    const int64_t n1 = BalancedDivisor(n), n2 = n / n1;
    FftPass pass = Pass(from, to, n2);
    pass.outer = outer;
    pass.mid = n1;
    pass.inner = stride;
    pass.from_outer = n * stride;
    pass.from_mid = n2 * stride;
    pass.from_step = stride;
    pass.to_outer = to_outer;
    pass.to_mid = stride;
    pass.to_step = n1 * stride;
    pass.from_inner = pass.to_inner = 1;
    pass.swap_out = inverse_;
    pass.divisor = divisor;
    program_.passes.push_back(pass);
  }

  void Pairs(FftPassKind kind, int64_t half, int64_t outer, Place from, int64_t from_outer, Place to,
             int64_t to_outer) {
    FftPass pass = Pass(from, to, half);
    pass.kind = kind;
    pass.outer = outer;
    pass.from_outer = from_outer;
    pass.to_outer = to_outer;
    program_.passes.push_back(pass);
  }

  Place Scratch(int64_t numbers) {
    const int64_t bytes = (numbers * (wide_ ? 16 : 8) + 63) / 64 * 64;
    program_.scratch_bytes = std::max(program_.scratch_bytes, kept_ + bytes);
    return {kScratch, kept_};
  }

  const bool wide_;
  bool inverse_;
  int64_t kept_ = 0;
  FftProgram program_;
};

}  // namespace

FftProgram FftPasses(FftDirection direction, bool wide, absl::Span<const int64_t> dims,
                     absl::Span<const int64_t> lengths) {
  ProgramMaker maker(direction, wide);
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const int64_t first = last + 1 - static_cast<int64_t>(lengths.size());
  if (Product(dims) == 0 || Product(lengths) == 0) return {};
  const int64_t n = lengths.back(), lines = Product(dims.subspan(0, last));
  const Place operand{0, 0}, result{1, 0};
  // All other dimensions, of numbers at `at` once the first of them was read from `from`.
  auto others = [&](Place from, Place at, int64_t width) {
    for (int64_t d = last - 1; d >= first; --d) {
      const int64_t stride = Product(dims.subspan(d + 1, last - d - 1)) * width;
      maker.Complex(dims[d], Product(dims.subspan(0, d)), stride, from, at);
      from = at;
    }
  };
  switch (direction) {
    case FftDirection::kForward:
    case FftDirection::kInverse:
      maker.Complex(n, lines, 1, operand, result);
      others(result, result, dims[last]);
      break;
    case FftDirection::kFromReal:
      maker.FromReal(n, lines, operand, result);
      others(result, result, n / 2 + 1);
      break;
    case FftDirection::kToReal: {
      if (lengths.size() == 1) {
        maker.ToReal(n, lines, operand, result);
        break;
      }
      const Place between = maker.Keep(lines * (n / 2 + 1));
      others(operand, between, n / 2 + 1);
      maker.ToReal(n, lines, between, result);
      break;
    }
  }
  return std::move(maker).Finish();
}

}  // namespace shoal
