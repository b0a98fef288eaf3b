#include "core/codegen/sort_row.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace shoal {
namespace {

constexpr int64_t kRadixFrom = 512;  // below, comparing is faster than counting
constexpr int kDigitBits = 11;

struct WideKey {
  uint64_t key, index;
};

uint64_t KeyOf(uint64_t packed) { return packed >> 32; }
uint64_t KeyOf(const WideKey& wide) { return wide.key; }

// Least significant digit first; a digit that is the same everywhere costs only its counting. Positions are
// in order at the start, and every pass keeps the order of equals: stable.
template <typename T>
void RadixSort(std::vector<T>& items, int key_bits) {
  std::vector<T> other(items.size());
  for (int shift = 0; shift < key_bits; shift += kDigitBits) {
    std::array<size_t, 1 << kDigitBits> starts{};
    auto digit = [&](const T& item) { return (KeyOf(item) >> shift) & ((1 << kDigitBits) - 1); };
    for (const T& item : items) ++starts[digit(item)];
    if (starts[digit(items[0])] == items.size()) continue;
    size_t sum = 0;
    for (size_t& start : starts) sum += std::exchange(start, sum);
    for (const T& item : items) other[starts[digit(item)]++] = item;
    items.swap(other);
  }
}

template <typename T, typename Before>
void SortItems(std::vector<T>& items, int64_t take, int key_bits, Before before) {
  int64_t count = static_cast<int64_t>(items.size());
  if (take * 16 < count) {
    std::partial_sort(items.begin(), items.begin() + take, items.end(), before);
  } else if (count < kRadixFrom) {
    std::sort(items.begin(), items.end(), before);
  } else {
    RadixSort(items, key_bits);
  }
}

// Stable, and safe with a comparator that is no order at all (NaNs): positions are only ever merged.
template <typename Before>
void MergeSort(std::vector<uint32_t>& items, Before before) {
  std::vector<uint32_t> other(items.size());
  for (size_t run = 1; run < items.size(); run *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * run) {
      size_t middle = std::min(begin + run, items.size()), end = std::min(begin + 2 * run, items.size());
      std::merge(items.begin() + begin, items.begin() + middle, items.begin() + middle, items.begin() + end,
                 other.begin() + begin, before);
    }
    items.swap(other);
  }
}

std::vector<uint32_t> Order(const SortRowArguments& a) {
  std::vector<uint32_t> order(static_cast<size_t>(a.count));
  if (a.keys == nullptr) {
    std::iota(order.begin(), order.end(), 0u);
    MergeSort(order, [&](uint32_t i, uint32_t j) { return a.less(a.inputs, i, j); });
  } else if (a.wide_key != 0) {
    std::vector<WideKey> items(order.size());
    a.keys(a.inputs, &items[0].key);
    SortItems(items, a.take, 64, [](const WideKey& x, const WideKey& y) {
      return x.key != y.key ? x.key < y.key : x.index < y.index;
    });
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(items[i].index);
  } else {
    std::vector<uint64_t> items(order.size());
    a.keys(a.inputs, items.data());
    SortItems(items, a.take, 32, std::less<uint64_t>());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(items[i]);
  }
  return order;
}

template <int width>
void Permute(const std::vector<uint32_t>& order, int64_t take, int64_t stride, const char* from, char* to) {
  for (int64_t i = 0; i < take; ++i)
    std::memcpy(to + i * stride * width, from + order[i] * stride * width, width);
}

}  // namespace

extern "C" void shoal_sort_row(const SortRowArguments* arguments) {
  const SortRowArguments& a = *arguments;
  if (a.count == 0) return;
  std::vector<uint32_t> order = Order(a);
  for (int64_t k = 0; k < a.operands; ++k) {
    switch (a.widths[k]) {
      case 1:
        Permute<1>(order, a.take, a.stride, a.inputs[k], a.outputs[k]);
        break;
      case 2:
        Permute<2>(order, a.take, a.stride, a.inputs[k], a.outputs[k]);
        break;
      case 4:
        Permute<4>(order, a.take, a.stride, a.inputs[k], a.outputs[k]);
        break;
      case 8:
        Permute<8>(order, a.take, a.stride, a.inputs[k], a.outputs[k]);
        break;
      default:
        Permute<16>(order, a.take, a.stride, a.inputs[k], a.outputs[k]);
        break;
    }
  }
  if (a.indices == nullptr) return;
  for (int64_t i = 0; i < a.take; ++i) a.indices[i] = static_cast<int32_t>(order[i]);
}

}  // namespace shoal
