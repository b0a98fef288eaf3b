// The loops of FftPass, for as many lines at once as the vectors of the target have lanes. Included by
// fft_baseline.cc and fft_avx2.cc alone (simd.h says why nothing here may be shared).
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/kernels/fft_lines.h"
#include "core/kernels/fft_plan.h"
#include "core/kernels/simd.h"

namespace {

using shoal::FftPass;
using shoal::FftPlan;
using shoal::FftRoots;
using shoal::FftStage;

// One complex number of each line.
template <class T, int W>
struct Cx {
  using V = typename VectorOf<T, W>::type;
  V re, im;

  Cx operator+(const Cx& o) const { return {re + o.re, im + o.im}; }
  Cx operator-(const Cx& o) const { return {re - o.re, im - o.im}; }
  Cx operator*(const Cx& o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  // Times the number at `w`, the same for all lines.
  Cx Times(const T* w) const { return {re * w[0] - im * w[1], re * w[1] + im * w[0]}; }
  Cx TimesMinusI() const { return {im, -re}; }
  Cx Conjugate() const { return {re, -im}; }
  Cx Swapped() const { return {im, re}; }
};

template <class C>
inline void Butterfly2(C* v) {
  const C a = v[0], b = v[1];
  v[0] = a + b;
  v[1] = a - b;
}

template <class C, class T>
inline void Butterfly3(C* v) {
  const T half = T(0.5), root = T(0.86602540378443864676);
  const C sum = v[1] + v[2], difference = v[1] - v[2];
  const C middle = {v[0].re - sum.re * half, v[0].im - sum.im * half};
  const C turn = {difference.im * root, -difference.re * root};
  v[0] = v[0] + sum;
  v[1] = middle + turn;
  v[2] = middle - turn;
}

template <class C>
inline void Butterfly4(C* v) {
  const C a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = (v[1] - v[3]).TimesMinusI();
  v[0] = a + c;
  v[1] = b + d;
  v[2] = a - c;
  v[3] = b - d;
}

template <class C, class T>
inline void Butterfly5(C* v) {
  const T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
  const T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
  const C a = v[1] + v[4], b = v[2] + v[3], d = v[1] - v[4], e = v[2] - v[3];
  const C m1 = {v[0].re + a.re * c1 + b.re * c2, v[0].im + a.im * c1 + b.im * c2};
  const C m2 = {v[0].re + a.re * c2 + b.re * c1, v[0].im + a.im * c2 + b.im * c1};
  const C t1 = {d.im * s1 + e.im * s2, -(d.re * s1 + e.re * s2)};
  const C t2 = {d.im * s2 - e.im * s1, -(d.re * s2 - e.re * s1)};
  v[0] = v[0] + a + b;
  v[1] = m1 + t1;
  v[2] = m2 + t2;
  v[3] = m2 - t2;
  v[4] = m1 - t1;
}

template <class C, class T, int R>
inline void Butterfly(C* v) {
  if constexpr (R == 2) Butterfly2(v);
  if constexpr (R == 3) Butterfly3<C, T>(v);
  if constexpr (R == 4) Butterfly4(v);
  if constexpr (R == 5) Butterfly5<C, T>(v);
}

// A Stockham stage: x is (R, m, s), y is (m, R, s).
template <class T, int W, int R>
void Stage(const FftStage<T>& stage, int64_t m, int64_t s, const Cx<T, W>* x, Cx<T, W>* y) {
  for (int64_t p = 0; p < m; ++p) {
    const T* w = stage.twiddles + p * (R - 1) * 2;
    for (int64_t q = 0; q < s; ++q) {
      Cx<T, W> v[R];
      for (int k = 0; k < R; ++k) v[k] = x[q + s * (p + m * k)];
      Butterfly<Cx<T, W>, T, R>(v);
      Cx<T, W>* out = y + q + s * R * p;
      out[0] = v[0];
      for (int k = 1; k < R; ++k) out[s * k] = m == 1 ? v[k] : v[k].Times(w + 2 * (k - 1));
    }
  }
}

// The same for any odd radix: sums and differences of the pairs (j, r - j) against cosines and sines.
template <class T, int W>
void OddStage(const FftStage<T>& stage, int64_t m, int64_t s, const Cx<T, W>* x, Cx<T, W>* y) {
  using C = Cx<T, W>;
  const int64_t r = stage.radix, h = (r - 1) / 2;
  C sums[shoal::kMaxRadix / 2 + 1], differences[shoal::kMaxRadix / 2 + 1];
  for (int64_t i = 0; i < m * s; ++i) {
    const int64_t p = i / s, q = i % s;
    const C first = x[q + s * p];
    const T* w = stage.twiddles + p * (r - 1) * 2;
    C* out = y + q + s * r * p;
    C total = first;
    for (int64_t j = 1; j <= h; ++j) {
      const C a = x[q + s * (p + m * j)], b = x[q + s * (p + m * (r - j))];
      sums[j] = a + b;
      differences[j] = a - b;
      total = total + sums[j];
    }
    out[0] = total;
    for (int64_t k = 1; k <= h; ++k) {
      C even = first, odd = {first.re - first.re, first.im - first.im};
      for (int64_t j = 1, at = k; j <= h; ++j, at = at + k >= r ? at + k - r : at + k) {
        const T *root = stage.roots + 2 * at, c = root[0], d = root[1];
        even = {even.re + sums[j].re * c, even.im + sums[j].im * c};
        odd = {odd.re - differences[j].im * d, odd.im + differences[j].re * d};
      }
      out[s * k] = (even + odd).Times(w + 2 * (k - 1));
      out[s * (r - k)] = (even - odd).Times(w + 2 * (r - k - 1));
    }
  }
}

// Transforms `x` with `y` to work in; the result is in the one that is returned.
template <class T, int W>
Cx<T, W>* RunStages(const FftPlan<T>& plan, Cx<T, W>* x, Cx<T, W>* y) {
  int64_t m = plan.length, s = 1;
  for (int64_t i = 0; i < plan.stage_count; ++i) {
    const FftStage<T>& stage = plan.stages[i];
    m /= stage.radix;
    switch (stage.radix) {
      case 2:
        Stage<T, W, 2>(stage, m, s, x, y);
        break;
      case 3:
        Stage<T, W, 3>(stage, m, s, x, y);
        break;
      case 4:
        Stage<T, W, 4>(stage, m, s, x, y);
        break;
      case 5:
        Stage<T, W, 5>(stage, m, s, x, y);
        break;
      default:
        OddStage<T, W>(stage, m, s, x, y);
    }
    s *= stage.radix;
    Cx<T, W>* swapped = x;
    x = y;
    y = swapped;
  }
  return x;
}

template <class T, int W>
Cx<T, W>* Transform(const FftPlan<T>& plan, Cx<T, W>* x, Cx<T, W>* y) {
  if (plan.convolution == nullptr) return RunStages(plan, x, y);
  const FftPlan<T>& padded = *plan.convolution;
  const int64_t n = plan.length;
  for (int64_t i = 0; i < n; ++i) x[i] = x[i].Times(plan.chirp + 2 * i);
  for (int64_t i = n; i < padded.length; ++i) x[i] = Cx<T, W>{};
  Cx<T, W>* z = RunStages(padded, x, y);
  Cx<T, W>* other = z == x ? y : x;
  for (int64_t i = 0; i < padded.length; ++i) z[i] = z[i].Times(plan.spectrum + 2 * i).Swapped();
  z = RunStages(padded, z, other);
  for (int64_t i = 0; i < n; ++i) z[i] = z[i].Swapped().Times(plan.chirp + 2 * i);
  return z;
}

template <class T, int W>
Cx<T, W> RootAt(const FftRoots<T>& roots, int64_t k) {
  const T *a = roots.coarse + 2 * (k >> roots.shift),
          *b = roots.fine + 2 * (k & ((int64_t{1} << roots.shift) - 1));
  using V = typename Cx<T, W>::V;
  const T re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  return {V{} + re, V{} + im};
}

// For the pair k, n - k of a half spectrum x[0..n], whose ends are real: of the numbers whose transform has
// the real line's even places as real parts and the odd ones as imaginary parts
//   z[k] = (x[k] + conj x[n - k]) + i w(2n, -k) (x[k] - conj x[n - k])
template <class C>
inline void TanglePair(const C a, const C b, const C root, C& low, C& high) {
  const C turned = (a - b.Conjugate()) * root.Conjugate(), sum = a + b.Conjugate();
  const C i_turned = {-turned.im, turned.re};
  low = sum + i_turned;
  high = (sum - i_turned).Conjugate();
}

// The opposite: x[k] = ((z[k] + conj z[n - k]) - i w(2n, k) (z[k] - conj z[n - k])) / 2, where z[n] is z[0].
template <class C>
inline void UntanglePair(const C a, const C b, const C root, C& low, C& high) {
  const C turned = ((a - b.Conjugate()) * root).TimesMinusI(), sum = a + b.Conjugate();
  const C x = sum + turned, y = (sum - turned).Conjugate();
  low = {x.re / 2, x.im / 2};
  high = {y.re / 2, y.im / 2};
}

// Where the lines of a group begin.
template <int W>
struct Lines {
  int64_t count = 0;  // of the W lanes; the others repeat the first line and are not stored
  int64_t from[W], to[W], column[W];
  bool from_adjacent = true, to_adjacent = true;  // one number apart

  Lines(const FftPass& pass, int64_t first, int64_t limit) : count(limit - first < W ? limit - first : W) {
    for (int64_t lane = 0; lane < W; ++lane) {
      const int64_t line = lane < count ? first + lane : first;
      const int64_t inner = line % pass.inner, rest = line / pass.inner;
      const int64_t mid = rest % pass.mid, outer = rest / pass.mid;
      from[lane] = outer * pass.from_outer + mid * pass.from_mid + inner * pass.from_inner;
      to[lane] = outer * pass.to_outer + mid * pass.to_mid + inner * pass.to_inner;
      column[lane] = inner / pass.twiddle_inner;
      from_adjacent = from_adjacent && from[lane] == from[0] + lane;
      to_adjacent = to_adjacent && to[lane] == to[0] + lane;
    }
  }
};

template <class V, int... I>
inline V Even(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <class V, int... I>
inline V Odd(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
// The lower or upper halves of a and b, number by number in turn.
template <class V, int H, int... I>
inline V Zip(const V& a, const V& b, std::integer_sequence<int, I...>) {
  constexpr int kWidth = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / 2 + H * kWidth / 2 + (I % 2) * kWidth)...);
}

// One step of the transposition of W rows: exchanges blocks of D columns.
template <class V, int D, int... I>
inline void Exchange(V& a, V& b, std::integer_sequence<int, I...>) {
  constexpr int kWidth = sizeof...(I);
  const V low = __builtin_shufflevector(a, b, ((I & D) ? (I ^ D) + kWidth : I)...);
  b = __builtin_shufflevector(a, b, ((I & D) ? I + kWidth : (I ^ D))...);
  a = low;
}
template <class V, int W, int D = 1>
inline void Transpose(V* rows) {
  if constexpr (D < W) {
    for (int i = 0; i < W; ++i) {
      if ((i & D) == 0) Exchange<V, D>(rows[i], rows[i + D], std::make_integer_sequence<int, W>());
    }
    Transpose<V, W, 2 * D>(rows);
  }
}

// One pass over lines of one type.
template <class T, int W>
class Runner {
  using C = Cx<T, W>;
  using V = typename C::V;
  using U = typename VectorOf<T, W>::unaligned;
  static constexpr auto kLanes = std::make_integer_sequence<int, W>();

 public:
  Runner(const FftPass& pass, char* const* buffers)
      : pass_(pass),
        plan_(shoal::GetFftPlan<T>(pass.length)),
        from_(reinterpret_cast<const T*>(buffers[pass.from] + pass.from_offset)),
        to_(reinterpret_cast<T*>(buffers[pass.to] + pass.to_offset)) {
    if (pass.twiddle_length != 0) roots_ = &shoal::GetFftRoots<T>(pass.twiddle_length);
    if (pass.load == shoal::kLoadTangled || pass.store == shoal::kStoreUntangled)
      roots_ = &shoal::GetFftRoots<T>(2 * pass.length);
    work_length_ = plan_.work_length() + 1;  // a half spectrum has one number more
    const size_t bytes = sizeof(C) * 2 * work_length_;
    memory_ = static_cast<C*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  ~Runner() { std::free(memory_); }
  Runner(const Runner&) = delete;

  void Run(int64_t first, int64_t limit) {
    const Lines<W> lines(pass_, first, limit);
    C *x = memory_, *y = memory_ + work_length_;
    Load(lines, x);
    C* z = Transform<T, W>(plan_, x, y);
    if (pass_.store == shoal::kStoreUntangled) Untangle(z);
    if (pass_.twiddle_length != 0) Twiddle(lines, z);
    if (pass_.divisor != 1) Divide(z);
    Store(lines, z);
  }

 private:
  void Load(const Lines<W>& lines, C* x) const {
    const int64_t n = pass_.length + (pass_.load == shoal::kLoadTangled);
    if (pass_.load == shoal::kLoadReal) {
      for (int64_t i = 0; i < n; ++i) {
        for (int lane = 0; lane < W; ++lane) x[i].re[lane] = from_[lines.from[lane] + i * pass_.from_step];
        x[i].im = V{};
      }
    } else if (pass_.load == shoal::kLoadHermitian) {
      LoadHermitian(lines, x);
    } else if (lines.from_adjacent && W > 1) {
      for (int64_t i = 0; i < n; ++i) {
        const T* at = from_ + 2 * (lines.from[0] + i * pass_.from_step);
        const V a = *reinterpret_cast<const U*>(at), b = *reinterpret_cast<const U*>(at + W);
        x[i] = {Even(a, b, kLanes), Odd(a, b, kLanes)};
      }
    } else {
      LoadRows(lines, n, x);
    }
    if (pass_.load == shoal::kLoadTangled) Tangle(x);
    if (pass_.swap_in) {
      for (int64_t i = 0; i < pass_.length; ++i) x[i] = x[i].Swapped();
    }
  }

  // Lines that each lie together: squares of them are transposed in registers.
  void LoadRows(const Lines<W>& lines, int64_t n, C* x) const {
    int64_t i = 0;
    if (pass_.from_step == 1) {
      for (; W > 1 && i + W / 2 <= n; i += W / 2) {
        V rows[W];
        for (int lane = 0; lane < W; ++lane)
          rows[lane] = *reinterpret_cast<const U*>(from_ + 2 * (lines.from[lane] + i));
        Transpose<V, W>(rows);
        for (int k = 0; k < W / 2; ++k) x[i + k] = {rows[2 * k], rows[2 * k + 1]};
      }
    }
    for (; i < n; ++i) {
      for (int lane = 0; lane < W; ++lane) {
        const T* at = from_ + 2 * (lines.from[lane] + i * pass_.from_step);
        x[i].re[lane] = at[0];
        x[i].im[lane] = at[1];
      }
    }
  }

  // Numbers past the half are the conjugates of those before it.
  void LoadHermitian(const Lines<W>& lines, C* x) const {
    const int64_t n = pass_.length;
    for (int lane = 0; lane < W; ++lane) {
      for (int64_t k = 0; k < n; ++k) {
        const bool past = 2 * k > n;
        const T* at = from_ + 2 * (lines.from[lane] + (past ? n - k : k) * pass_.from_step);
        x[k].re[lane] = at[0];
        x[k].im[lane] = k == 0 || 2 * k == n ? T(0) : (past ? -at[1] : at[1]);
      }
    }
  }

  void Tangle(C* x) const {
    const int64_t n = pass_.length;
    x[0].im = V{};
    x[n].im = V{};
    for (int64_t k = 0; 2 * k <= n; ++k) TanglePair(x[k], x[n - k], RootAt<T, W>(*roots_, k), x[k], x[n - k]);
  }
  void Untangle(C* z) const {
    const int64_t n = pass_.length;
    z[n] = z[0];
    for (int64_t k = 0; 2 * k <= n; ++k)
      UntanglePair(z[k], z[n - k], RootAt<T, W>(*roots_, k), z[k], z[n - k]);
  }

  // The roots w(N, k * column) for k = 16 a + b as products of those for 16 a and for b.
  void Twiddle(const Lines<W>& lines, C* z) const {
    const int64_t whole = pass_.twiddle_length;
    C low[16], step;
    for (int64_t b = 0; b < 16; ++b) low[b] = Roots(lines, b % whole);
    for (int64_t k = 0; k < pass_.length; ++k) {
      if (k % 16 == 0) step = Roots(lines, k);
      z[k] = z[k] * (k % 16 == 0 ? step : step * low[k % 16]);
    }
  }
  C Roots(const Lines<W>& lines, int64_t k) const {
    C roots;
    for (int lane = 0; lane < W; ++lane) {
      const auto root = RootAt<T, 1>(*roots_, k * lines.column[lane] % pass_.twiddle_length);
      roots.re[lane] = root.re[0];
      roots.im[lane] = root.im[0];
    }
    return roots;
  }

  void Divide(C* z) const {
    const T factor = T(1.0 / static_cast<double>(pass_.divisor));
    for (int64_t k = 0; k < pass_.length; ++k) z[k] = {z[k].re * factor, z[k].im * factor};
  }

  void Store(const Lines<W>& lines, C* z) const {
    if (pass_.swap_out) {
      for (int64_t k = 0; k < pass_.length; ++k) z[k] = z[k].Swapped();
    }
    if (pass_.store == shoal::kStoreReal) {
      for (int64_t lane = 0; lane < lines.count; ++lane) {
        for (int64_t k = 0; k < pass_.stored; ++k) to_[lines.to[lane] + k * pass_.to_step] = z[k].re[lane];
      }
    } else if (lines.to_adjacent && lines.count == W && W > 1) {
      for (int64_t k = 0; k < pass_.stored; ++k) {
        T* at = to_ + 2 * (lines.to[0] + k * pass_.to_step);
        *reinterpret_cast<U*>(at) = Zip<V, 0>(z[k].re, z[k].im, kLanes);
        *reinterpret_cast<U*>(at + W) = Zip<V, 1>(z[k].re, z[k].im, kLanes);
      }
    } else {
      StoreRows(lines, z);
    }
  }

  void StoreRows(const Lines<W>& lines, const C* z) const {
    int64_t k = 0;
    if (pass_.to_step == 1) {
      for (; W > 1 && k + W / 2 <= pass_.stored; k += W / 2) {
        V rows[W];
        for (int i = 0; i < W / 2; ++i) {
          rows[2 * i] = z[k + i].re;
          rows[2 * i + 1] = z[k + i].im;
        }
        Transpose<V, W>(rows);
        for (int64_t lane = 0; lane < lines.count; ++lane)
          *reinterpret_cast<U*>(to_ + 2 * (lines.to[lane] + k)) = rows[lane];
      }
    }
    for (; k < pass_.stored; ++k) {
      for (int64_t lane = 0; lane < lines.count; ++lane) {
        T* at = to_ + 2 * (lines.to[lane] + k * pass_.to_step);
        at[0] = z[k].re[lane];
        at[1] = z[k].im[lane];
      }
    }
  }

  const FftPass& pass_;
  const FftPlan<T>& plan_;
  const T* from_;
  T* to_;
  const FftRoots<T>* roots_ = nullptr;
  int64_t work_length_;
  C* memory_;
};

template <class T, int W>
void RunLines(const FftPass& pass, char* const* buffers, int64_t first, int64_t limit) {
  Runner<T, W> runner(pass, buffers);
  for (int64_t line = first; line < limit; line += W) runner.Run(line, limit);
}

// A line alone needs no lanes: it takes a W-th of the memory.
template <class T, int W>
void RunType(const FftPass& pass, char* const* buffers, int64_t first, int64_t limit) {
  if (limit - first == 1) return RunLines<T, 1>(pass, buffers, first, limit);
  RunLines<T, W>(pass, buffers, first, limit);
}

// The pass kinds without a transform. `from` and `to` may be the same.
template <class T>
void RunPairs(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end) {
  using C = Cx<T, 1>;
  const auto* from = reinterpret_cast<const C*>(buffers[pass.from] + pass.from_offset);
  auto* to = reinterpret_cast<C*>(buffers[pass.to] + pass.to_offset);
  const FftRoots<T>& roots = shoal::GetFftRoots<T>(2 * pass.length);
  const int64_t n = pass.length;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t line = unit / pass.pair_units(), block = unit % pass.pair_units();
    const C* x = from + line * pass.from_outer;
    C* y = to + line * pass.to_outer;
    for (int64_t k = block * shoal::kFftPairUnit; k < (block + 1) * shoal::kFftPairUnit && 2 * k <= n; ++k) {
      const C root = RootAt<T, 1>(roots, k);
      C a = x[k], b, low, high;
      if (pass.kind == shoal::kPassTangle) {
        b = x[n - k];
        if (k == 0) a.im = b.im = typename C::V{};
        TanglePair(a, b, root, low, high);
      } else {
        b = k == 0 ? a : x[n - k];
        UntanglePair(a, b, root, low, high);
      }
      y[k] = low;
      if (k != 0 || pass.kind == shoal::kPassUntangle) y[n - k] = high;  // a tangled line has no place n
    }
  }
}

template <int Bytes>
void RunPass(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end) {
  if (pass.kind != shoal::kPassLines) {
    return pass.wide ? RunPairs<double>(pass, buffers, begin, end)
                     : RunPairs<float>(pass, buffers, begin, end);
  }
  const int64_t first = begin * shoal::kFftUnit, last = end * shoal::kFftUnit;
  const int64_t limit = last < pass.lines() ? last : pass.lines();
  if (pass.wide) {
    RunType<double, Bytes / 8>(pass, buffers, first, limit);
  } else {
    RunType<float, Bytes / 4>(pass, buffers, first, limit);
  }
}

}  // namespace
