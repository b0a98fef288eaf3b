#include "core/kernels/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "core/kernels/fft_lines.h"

namespace shoal {
namespace {

// w(n, k), from an angle of at most an eighth of the circle.
struct Root {
  double re, im;
};
Root RootOfUnity(int64_t n, int64_t k) {
  k %= n;
  if (8 * k > 4 * n) {
    const Root r = RootOfUnity(n, n - k);
    return {r.re, -r.im};
  }
  if (8 * k > 2 * n) {  // past a quarter: w(n, k) = -i w(n, k - n / 4)
    const Root r = RootOfUnity(4 * n, 4 * k - n);
    return {r.im, -r.re};
  }
  if (8 * k > n) {
    const double angle = M_PI * (n - 4.0 * k) / (2.0 * n);
    return {std::sin(angle), -std::cos(angle)};
  }
  return {std::cos(2 * M_PI * k / n), -std::sin(2 * M_PI * k / n)};
}

std::vector<int64_t> Radices(int64_t n) {
  std::vector<int64_t> radices;
  auto take = [&](int64_t r) {
    while (n % r == 0) {
      radices.push_back(r);
      n /= r;
    }
  };
  take(4);
  take(2);
  for (int64_t r = 3; r * r <= n; r += 2) take(r);
  if (n > 1) radices.push_back(n);
  return radices;
}

bool IsSmooth(int64_t n) {
  for (int64_t r : Radices(n)) {
    if (r > kMaxRadix) return false;
  }
  return true;
}

// The least 2^a 3^b 5^c that is not below n.
int64_t GoodLength(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t odd = fives; odd < best; odd *= 3) {
      int64_t length = odd;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

// Plans and tables of one type, by length.
template <class T>
class Tables {
 public:
  static Tables& Get() {
    static auto* const tables = new Tables();
    return *tables;
  }

  const FftPlan<T>& Plan(int64_t length) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    auto [it, added] = plans_.try_emplace(length);
    FftPlan<T>& plan = it->second;
    if (added) plan = Make(length);
    return plan;
  }

  const FftRoots<T>& Roots(int64_t n) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    auto [it, added] = roots_.try_emplace(n);
    if (!added) return it->second;
    FftRoots<T>& roots = it->second;
    while ((int64_t{1} << (2 * roots.shift)) < n) ++roots.shift;
    const int64_t fine = int64_t{1} << roots.shift;
    roots.fine = Table(fine, [&](int64_t k) { return RootOfUnity(n, k); });
    roots.coarse = Table(n / fine + 1, [&](int64_t k) { return RootOfUnity(n, k * fine); });
    return roots;
  }

 private:
  template <class F>
  const T* Table(int64_t count, F root) {
    auto& values = *arrays_.emplace_back(std::make_unique<std::vector<T>>(2 * count));
    for (int64_t k = 0; k < count; ++k) {
      const Root r = root(k);
      values[2 * k] = static_cast<T>(r.re);
      values[2 * k + 1] = static_cast<T>(r.im);
    }
    return values.data();
  }

  FftPlan<T> Make(int64_t length) {
    FftPlan<T> plan;
    plan.length = length;
    if (!IsSmooth(length)) {
      MakeConvolution(plan);
      return plan;
    }
    auto& stages = *stages_.emplace_back(std::make_unique<std::vector<FftStage<T>>>());
    int64_t left = length;
    for (int64_t r : Radices(length)) {
      const int64_t n = left;
      left /= r;
      FftStage<T>& stage = stages.emplace_back();
      stage.radix = r;
      stage.twiddles =
          Table(left * (r - 1), [&](int64_t i) { return RootOfUnity(n, i / (r - 1) * (i % (r - 1) + 1)); });
      stage.roots = Table(r, [&](int64_t k) { return RootOfUnity(r, k); });
    }
    plan.stages = stages.data();
    plan.stage_count = static_cast<int64_t>(stages.size());
    return plan;
  }

  void MakeConvolution(FftPlan<T>& plan) {
    const int64_t n = plan.length, padded = GoodLength(2 * n - 1);
    const auto chirp = [&](int64_t k) {
      return RootOfUnity(2 * n, static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n)));
    };
    plan.chirp = Table(n, chirp);
    // In double for either type: the spectrum's rounding errors would be those of every result.
    std::vector<double> conjugate(2 * padded), spectrum(2 * padded);
    for (int64_t k = 0; k < n; ++k) {
      const Root c = chirp(k);
      for (int64_t at : {k, (padded - k) % padded}) {
        conjugate[2 * at] = c.re;
        conjugate[2 * at + 1] = -c.im;
      }
    }
    TransformLine(padded, conjugate.data(), spectrum.data());
    const double scale = 1.0 / static_cast<double>(padded);
    plan.spectrum =
        Table(padded, [&](int64_t k) { return Root{spectrum[2 * k] * scale, spectrum[2 * k + 1] * scale}; });
    plan.convolution = &Plan(padded);
  }

  std::recursive_mutex mutex_;  // a plan asks for that of its convolution
  absl::node_hash_map<int64_t, FftPlan<T>> plans_;
  absl::node_hash_map<int64_t, FftRoots<T>> roots_;
  std::vector<std::unique_ptr<std::vector<T>>> arrays_;
  std::vector<std::unique_ptr<std::vector<FftStage<T>>>> stages_;
};

}  // namespace

template <class T>
const FftPlan<T>& GetFftPlan(int64_t length) {
  return Tables<T>::Get().Plan(length);
}
template <class T>
const FftRoots<T>& GetFftRoots(int64_t n) {
  return Tables<T>::Get().Roots(n);
}

template const FftPlan<float>& GetFftPlan(int64_t);
template const FftPlan<double>& GetFftPlan(int64_t);
template const FftRoots<float>& GetFftRoots(int64_t);
template const FftRoots<double>& GetFftRoots(int64_t);

int64_t BalancedDivisor(int64_t n) {
  for (int64_t d = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); d > 1; --d) {
    if (d * d <= n && n % d == 0) return d;
  }
  return 1;
}

}  // namespace shoal
