#include "core/memory/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/memory/shared_pages.h"

namespace shoal {
namespace {

// One large page. Slabs and large blocks start at a multiple of it; small blocks never do, because a slab
// begins with its header, so an address alone says to which kind it belongs.
constexpr size_t kChunk = SharedPages::kLargePage;
constexpr size_t kPage = 4096;
// Above it a block has its own mapping; up to it at least seven blocks share a slab.
constexpr size_t kLargestSmall = size_t{256} << 10;
// Small blocks come in four sizes to the doubling, so at most a quarter is lost.
constexpr int kStepsLog2 = 2;
constexpr int kNumClasses = 64;
// A cached large block serves a request that needs at least this share of it.
constexpr size_t kMinFillPercent = 75;
// What one device keeps at most of freed large blocks: a part of its limit, and never more than this.
constexpr int64_t kMaxCachedBytes = int64_t{4} << 30;
constexpr int kCachedPart = 8;
// How many blocks an out-of-memory report names.
constexpr int kReportedBlocks = 5;

size_t RoundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Sizes in units of 64 bytes 1..4 are classes 0..3, then 5,6,7,8, 10,12,14,16, 20,...
int ClassOf(size_t bytes) {
  size_t units = bytes == 0 ? 1 : (bytes + Allocator::kAlignment - 1) / Allocator::kAlignment;
  if (units <= 4) return static_cast<int>(units) - 1;
  int log2 = std::bit_width(units - 1) - 1;  // units in (2^log2, 2^(log2+1)]
  size_t step = size_t{1} << (log2 - kStepsLog2);
  size_t index = (units - (size_t{1} << log2) + step - 1) / step;  // 1..4
  return 4 * (log2 - kStepsLog2) + static_cast<int>(index) + 3;
}

size_t ClassBytes(int size_class) {
  if (size_class < 4) return (size_class + 1) * Allocator::kAlignment;
  int log2 = (size_class - 4) / 4 + kStepsLog2;
  size_t step = size_t{1} << (log2 - kStepsLog2);
  return ((size_t{1} << log2) + ((size_class - 4) % 4 + 1) * step) * Allocator::kAlignment;
}

// Fresh memory of `bytes` (a multiple of the page size) at a multiple of kChunk; null if the system has none.
void* MapAligned(size_t bytes) {
  if (SharedPages* shared = SharedPages::Get(); shared != nullptr) {
    if (void* block = shared->Map(bytes); block != nullptr) return block;
  }
  size_t mapped = bytes + kChunk;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* aligned = reinterpret_cast<char*>(RoundUp(reinterpret_cast<uintptr_t>(begin), kChunk));
  if (aligned != begin) munmap(begin, aligned - begin);
  char* end = begin + mapped;
  if (aligned + bytes != end) munmap(aligned + bytes, end - (aligned + bytes));
  if (bytes >= kChunk)
    madvise(aligned, bytes, MADV_HUGEPAGE);  // advice: a kernel without them changes nothing
  return aligned;
}

void Unmap(void* block, size_t bytes) {
  SharedPages* shared = SharedPages::Get();
  if (shared != nullptr && shared->Holds(block)) return shared->Unmap(block, bytes);
  munmap(block, bytes);
}

// A chunk cut into blocks of one size class. Its header lies at its start, the blocks follow.
struct alignas(Allocator::kAlignment) Slab {
  int size_class;
  int live = 0;              // blocks in use
  void* free = nullptr;      // freed blocks, linked through their first word
  size_t fresh_offset;       // where the never used rest begins
  Slab* previous = nullptr;  // among the slabs of the class that have room
  Slab* next = nullptr;

  explicit Slab(int size_class) : size_class(size_class), fresh_offset(sizeof(Slab)) {}
  bool HasRoom() const { return free != nullptr || fresh_offset + ClassBytes(size_class) <= kChunk; }
  static Slab* Of(void* block) {
    return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(block) & ~(kChunk - 1));
  }
};

struct LargeBlock {
  size_t mapped;
  std::string label;
};

}  // namespace

struct Allocator::Impl {
  // std::mutex: see core/tasks/future.cc. Each guards what stands below it.
  struct SizeClass {
    std::mutex mutex;
    Slab* with_room = nullptr;
    Slab* spare = nullptr;  // one empty slab is kept, so that a loop does not map and unmap
  };

  std::string device_name;
  int64_t limit;
  std::array<SizeClass, kNumClasses> classes;
  std::mutex large_mutex;
  absl::flat_hash_map<void*, LargeBlock> large;
  std::multimap<size_t, void*> cached;
  std::atomic<int64_t> bytes_in_use{0};
  std::atomic<int64_t> peak_bytes{0};
  std::atomic<int64_t> bytes_cached{0};  // freed large blocks
  std::atomic<int64_t> small_bytes{0};
  std::atomic<int64_t> largest{0};
  std::atomic<int64_t> allocations{0};

  absl::Status Reserve(size_t bytes, size_t requested, absl::string_view label);
  void* AllocateSmall(int size_class);
  void FreeSmall(void* block);
  void* AllocateLarge(size_t bytes, absl::string_view label);
  void FreeLarge(void* block);
  void TrimLarge(int64_t keep);
  void TrimSmall();
  absl::Status OutOfMemory(size_t requested, absl::string_view label, absl::string_view why);
};

// Counts `bytes` as in use, or gives cached memory back until they fit under the limit.
absl::Status Allocator::Impl::Reserve(size_t bytes, size_t requested, absl::string_view label) {
  int64_t used = bytes_in_use.fetch_add(bytes, std::memory_order_relaxed) + static_cast<int64_t>(bytes);
  if (used > limit) {
    bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
    return OutOfMemory(requested, label, "the device's limit");
  }
  if (used + bytes_cached.load(std::memory_order_relaxed) > limit) TrimLarge(limit - used);
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (used > peak && !peak_bytes.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  int64_t size = static_cast<int64_t>(requested), biggest = largest.load(std::memory_order_relaxed);
  while (size > biggest && !largest.compare_exchange_weak(biggest, size, std::memory_order_relaxed)) {
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

void* Allocator::Impl::AllocateSmall(int size_class) {
  SizeClass& sizes = classes[size_class];
  std::lock_guard<std::mutex> lock(sizes.mutex);
  Slab* slab = sizes.with_room;
  if (slab == nullptr) {
    slab = std::exchange(sizes.spare, nullptr);
    if (slab == nullptr) {
      void* chunk = MapAligned(kChunk);
      if (chunk == nullptr) return nullptr;
      slab = new (chunk) Slab(size_class);
    }
    sizes.with_room = slab;
  }
  ++slab->live;
  void* block = slab->free;
  if (block != nullptr) {
    std::memcpy(&slab->free, block, sizeof(void*));
  } else {
    block = reinterpret_cast<char*>(slab) + slab->fresh_offset;
    slab->fresh_offset += ClassBytes(size_class);
  }
  if (!slab->HasRoom()) {
    sizes.with_room = slab->next;
    if (slab->next != nullptr) slab->next->previous = nullptr;
    slab->next = nullptr;
  }
  return block;
}

void Allocator::Impl::FreeSmall(void* block) {
  Slab* slab = Slab::Of(block);
  SizeClass& sizes = classes[slab->size_class];
  Slab* unused = nullptr;
  {
    std::lock_guard<std::mutex> lock(sizes.mutex);
    if (!slab->HasRoom()) {
      slab->next = sizes.with_room;
      if (sizes.with_room != nullptr) sizes.with_room->previous = slab;
      sizes.with_room = slab;
    }
    std::memcpy(block, &slab->free, sizeof(void*));
    slab->free = block;
    if (--slab->live == 0 && (slab->previous != nullptr || slab->next != nullptr)) {
      if (slab->previous != nullptr) slab->previous->next = slab->next;
      if (slab->next != nullptr) slab->next->previous = slab->previous;
      if (sizes.with_room == slab) sizes.with_room = slab->next;
      slab->previous = slab->next = nullptr;
      unused = std::exchange(sizes.spare, slab);
    }
  }
  if (unused != nullptr) Unmap(unused, kChunk);
}

void* Allocator::Impl::AllocateLarge(size_t bytes, absl::string_view label) {
  {
    std::lock_guard<std::mutex> lock(large_mutex);
    auto it = cached.lower_bound(bytes);
    if (it != cached.end() && bytes * 100 >= it->first * kMinFillPercent) {
      auto [mapped, block] = *it;
      cached.erase(it);
      bytes_cached.fetch_sub(mapped, std::memory_order_relaxed);
      large.emplace(block, LargeBlock{mapped, std::string(label)});
      return block;
    }
  }
  void* block = MapAligned(bytes);
  if (block == nullptr) {
    TrimLarge(0);
    block = MapAligned(bytes);
    if (block == nullptr) return nullptr;
  }
  std::lock_guard<std::mutex> lock(large_mutex);
  large.emplace(block, LargeBlock{bytes, std::string(label)});
  return block;
}

void Allocator::Impl::FreeLarge(void* block) {
  int64_t most = std::min<int64_t>(limit / kCachedPart, kMaxCachedBytes);
  {
    std::lock_guard<std::mutex> lock(large_mutex);
    auto it = large.find(block);
    size_t mapped = it->second.mapped;
    large.erase(it);
    bytes_in_use.fetch_sub(mapped, std::memory_order_relaxed);
    bytes_cached.fetch_add(mapped, std::memory_order_relaxed);
    cached.emplace(mapped, block);
  }
  if (bytes_cached.load(std::memory_order_relaxed) > most) TrimLarge(most);
}

// Unmaps cached blocks, the biggest first, until at most `keep` bytes are cached.
void Allocator::Impl::TrimLarge(int64_t keep) {
  std::vector<std::pair<size_t, void*>> dropped;
  {
    std::lock_guard<std::mutex> lock(large_mutex);
    while (!cached.empty() && bytes_cached.load(std::memory_order_relaxed) > keep) {
      auto it = std::prev(cached.end());
      bytes_cached.fetch_sub(it->first, std::memory_order_relaxed);
      dropped.push_back(*it);
      cached.erase(it);
    }
  }
  for (auto [mapped, block] : dropped) Unmap(block, mapped);
}

void Allocator::Impl::TrimSmall() {
  for (SizeClass& sizes : classes) {
    Slab* spare;
    {
      std::lock_guard<std::mutex> lock(sizes.mutex);
      spare = std::exchange(sizes.spare, nullptr);
    }
    if (spare != nullptr) Unmap(spare, kChunk);
  }
}

absl::Status Allocator::Impl::OutOfMemory(size_t requested, absl::string_view label, absl::string_view why) {
  std::vector<std::pair<size_t, std::string>> blocks;
  {
    std::lock_guard<std::mutex> lock(large_mutex);
    for (const auto& [pointer, block] : large) blocks.emplace_back(block.mapped, block.label);
  }
  std::sort(blocks.begin(), blocks.end(), std::greater<>());
  std::string text =
      absl::StrFormat("out of memory on %s: %d bytes for %s pass %s: %d bytes of %d are in use", device_name,
                      requested, label.empty() ? "an unnamed block" : label, why, bytes_in_use.load(), limit);
  for (size_t i = 0; i < blocks.size() && i < kReportedBlocks; ++i) {
    absl::StrAppend(&text, i == 0 ? "; the biggest blocks: " : ", ", blocks[i].first, " bytes ",
                    blocks[i].second);
  }
  if (blocks.size() > kReportedBlocks)
    absl::StrAppend(&text, " and ", blocks.size() - kReportedBlocks, " more");
  if (int64_t small = small_bytes.load(); small > 0)
    absl::StrAppend(&text, "; blocks of up to 256 KiB: ", small, " bytes");
  absl::StrAppend(&text, ". Shard over more devices, donate inputs, or raise SHOAL_MEMORY_LIMIT.");
  return absl::ResourceExhaustedError(text);
}

Allocator::Allocator(std::string device_name, int64_t limit) : impl_(std::make_unique<Impl>()) {
  impl_->device_name = std::move(device_name);
  impl_->limit = limit;
}

Allocator::~Allocator() {
  Trim();
  for (auto& sizes : impl_->classes) {
    std::lock_guard<std::mutex> lock(sizes.mutex);
    // A slab that still has live blocks stays mapped: whoever holds one of them may still read it.
    for (Slab* slab = sizes.with_room; slab != nullptr;) {
      Slab* next = slab->next;
      if (slab->live == 0) Unmap(slab, kChunk);
      slab = next;
    }
  }
}

absl::StatusOr<void*> Allocator::Allocate(size_t bytes, absl::string_view label) {
  Impl& impl = *impl_;
  // Beyond the limit already: checked before rounding, which could overflow.
  if (bytes > static_cast<size_t>(impl.limit)) return impl.OutOfMemory(bytes, label, "the device's limit");
  bool small = bytes <= kLargestSmall;
  int size_class = small ? ClassOf(bytes) : 0;
  size_t taken = small ? ClassBytes(size_class) : RoundUp(bytes, bytes >= kChunk ? kChunk : kPage);
  if (absl::Status status = impl.Reserve(taken, bytes, label); !status.ok()) return status;
  void* block = small ? impl.AllocateSmall(size_class) : impl.AllocateLarge(taken, label);
  if (block == nullptr) {
    impl.bytes_in_use.fetch_sub(taken, std::memory_order_relaxed);
    return impl.OutOfMemory(bytes, label, "what the system gives");
  }
  if (small) {
    impl.small_bytes.fetch_add(taken, std::memory_order_relaxed);
  } else {
    // A cached block may be bigger than asked for, and all of it is in use now.
    std::lock_guard<std::mutex> lock(impl.large_mutex);
    impl.bytes_in_use.fetch_add(impl.large.at(block).mapped - taken, std::memory_order_relaxed);
  }
  return block;
}

void Allocator::Free(void* block) {
  if (block == nullptr) return;
  if (reinterpret_cast<uintptr_t>(block) % kChunk == 0) return impl_->FreeLarge(block);
  int64_t bytes = ClassBytes(Slab::Of(block)->size_class);
  impl_->FreeSmall(block);
  impl_->small_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  impl_->bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryStats Allocator::Stats() const {
  MemoryStats stats;
  stats.bytes_in_use = impl_->bytes_in_use.load();
  stats.peak_bytes_in_use = impl_->peak_bytes.load();
  stats.bytes_cached = impl_->bytes_cached.load();
  stats.bytes_limit = impl_->limit;
  stats.largest_allocation = impl_->largest.load();
  stats.allocations = impl_->allocations.load();
  return stats;
}

void Allocator::Trim() {
  impl_->TrimLarge(0);
  impl_->TrimSmall();
}

}  // namespace shoal
