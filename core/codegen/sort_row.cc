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
constexpr int64_t kSelectBlock = 1024;  // elements of a long row that are looked at at once

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

bool Before(uint64_t x, uint64_t y) { return x < y; }
bool Before(const WideKey& x, const WideKey& y) { return x.key != y.key ? x.key < y.key : x.index < y.index; }

void Keys(const SortRowArguments& a, int64_t begin, int64_t end, uint64_t* out) {
  a.keys(a.inputs, begin, end, out);
}
void Keys(const SortRowArguments& a, int64_t begin, int64_t end, WideKey* out) {
  a.keys(a.inputs, begin, end, &out->key);
}

// The first `take` items in order, of a row many times as long. Only what comes before the last of the best
// so far is kept, and what is kept is cut back when there is a block too much of it: the row is read once and
// nothing of its length is written.
template <typename T>
std::vector<T> SmallestItems(const SortRowArguments& a) {
  if (a.take == 0) return {};
  std::array<T, kSelectBlock> block;
  std::vector<T> kept(static_cast<size_t>(2 * a.take) + kSelectBlock);
  const auto middle = kept.begin() + a.take;
  size_t count = 0;
  bool is_full = false;
  T limit{};
  for (int64_t begin = 0; begin < a.count; begin += kSelectBlock) {
    const int64_t end = std::min(begin + kSelectBlock, a.count);
    Keys(a, begin, end, block.data());
    for (int64_t i = 0; i < end - begin; ++i) {  // without a branch: how many pass is not to be foreseen
      kept[count] = block[i];
      count += !is_full || Before(block[i], limit);
    }
    if (count < static_cast<size_t>(2 * a.take)) continue;
    std::nth_element(kept.begin(), middle - 1, kept.begin() + count,
                     [](const T& x, const T& y) { return Before(x, y); });
    count = static_cast<size_t>(a.take);
    limit = *(middle - 1);
    is_full = true;
  }
  kept.resize(count);
  std::sort(kept.begin(), kept.end(), [](const T& x, const T& y) { return Before(x, y); });
  return kept;
}

template <typename T>
std::vector<T> SortedItems(const SortRowArguments& a, int key_bits) {
  if (a.take * 16 < a.count) return SmallestItems<T>(a);
  std::vector<T> items(static_cast<size_t>(a.count));
  Keys(a, 0, a.count, items.data());
  if (a.count < kRadixFrom) {
    std::sort(items.begin(), items.end(), [](const T& x, const T& y) { return Before(x, y); });
  } else {
    RadixSort(items, key_bits);
  }
  return items;
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

// The positions of the elements that are taken, in order.
std::vector<uint32_t> Order(const SortRowArguments& a) {
  std::vector<uint32_t> order;
  if (a.keys == nullptr) {
    order.resize(static_cast<size_t>(a.count));
    std::iota(order.begin(), order.end(), 0u);
    MergeSort(order, [&](uint32_t i, uint32_t j) { return a.less(a.inputs, i, j); });
  } else if (a.wide_key != 0) {
    for (const WideKey& item : SortedItems<WideKey>(a, 64))
      order.push_back(static_cast<uint32_t>(item.index));
  } else {
    for (uint64_t item : SortedItems<uint64_t>(a, 32)) order.push_back(static_cast<uint32_t>(item));
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
