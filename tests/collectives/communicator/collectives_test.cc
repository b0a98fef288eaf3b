// Every collective, on every wire, over processes and devices in several arrangements, against its plain
// definition.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <thread>

#include "collectives/reduce/stream_copy.h"
#include "core/types/literal.h"
#include "tests/collectives/communicator/job.h"

namespace shoal {
namespace {

struct Setup {
  std::vector<int> devices;
  WireKind wire;
  bool deterministic = false;
  int per_host = 0;
};

std::ostream& operator<<(std::ostream& out, const Setup& setup) {
  for (int count : setup.devices) out << count << "_";
  return out << NameOfWire(setup.wire) << (setup.deterministic ? "_deterministic" : "")
             << (setup.per_host > 0 ? absl::StrCat("_", setup.per_host, "_per_host") : "");
}

// Small whole numbers, which every type holds exactly, so that sums do not depend on their order.
template <typename T>
Bytes Encode(const std::vector<int>& values) {
  std::vector<T> typed(values.begin(), values.end());
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), typed.data(), bytes.size());
  return bytes;
}
Bytes Encode(ElementType type, const std::vector<int>& values) {
  switch (type) {
    case ElementType::kU8:
      return Encode<uint8_t>(values);
    case ElementType::kS32:
      return Encode<int32_t>(values);
    case ElementType::kF64:
      return Encode<double>(values);
    case ElementType::kC64:
      return Encode<std::complex<float>>(values);
    case ElementType::kBF16: {
      Bytes bytes(values.size() * 2);
      for (size_t i = 0; i < values.size(); ++i) {
        const float f = static_cast<float>(values[i]);
        std::memcpy(&bytes[2 * i], reinterpret_cast<const char*>(&f) + 2, 2);
      }
      return bytes;
    }
    default:
      return Encode<float>(values);
  }
}

// Numbers of every partition by array, in place of bytes.
using Numbers = std::vector<std::vector<std::vector<int>>>;

// The plain definition. `outputs` is sized; partitions in no group keep what they have, but for a
// broadcast's.
void Define(const CollectiveOp& op, const std::vector<std::vector<PartitionId>>& groups,
            const Numbers& inputs, Numbers* outputs) {
  for (size_t a = 0; a < op.arrays.size(); ++a) {
    const CollectiveArray& array = op.arrays[a];
    if (op.kind == CollectiveKind::kCollectivePermute) {
      for (auto& out : *outputs) std::fill(out[a].begin(), out[a].end(), 0);
      for (const auto& [source, target] : op.pairs) (*outputs)[target.value()][a] = inputs[source.value()][a];
      continue;
    }
    if (op.kind == CollectiveKind::kCollectiveBroadcast) {
      for (auto& out : *outputs) std::fill(out[a].begin(), out[a].end(), 0);
    }
    for (const auto& group : groups) {
      const int n = static_cast<int>(group.size());
      for (int r = 0; r < n; ++r) {
        std::vector<int>& out = (*outputs)[group[r].value()][a];
        for (int s = 0; s < n; ++s) {
          const std::vector<int>& in = inputs[group[s].value()][a];
          for (int64_t i = 0; i < array.elements; ++i) {
            switch (op.kind) {
              case CollectiveKind::kAllReduce:
                out[i] = (s == 0 ? 0 : out[i]) + in[i];
                break;
              case CollectiveKind::kReduceScatter:
                out[i] = (s == 0 ? 0 : out[i]) + in[Locate(array.in, n, r, i)];
                break;
              case CollectiveKind::kAllGather:
                out[Locate(array.out, n, s, i)] = in[i];
                break;
              case CollectiveKind::kAllToAll:
                if (i < array.elements / n) out[Locate(array.out, n, s, i)] = in[Locate(array.in, n, r, i)];
                break;
              case CollectiveKind::kCollectiveBroadcast:
                if (s == 0) out[i] = in[i];
                break;
              default:
                break;
            }
          }
        }
      }
    }
  }
}

class CollectivesTest : public testing::TestWithParam<Setup> {
 protected:
  CollectivesTest() {
    CollectiveOptions options;
    options.timeout = absl::Seconds(30);
    options.deterministic = GetParam().deterministic;
    job_ = std::make_unique<Job>(GetParam().devices, GetParam().wire, options, InProcessHub::Faults(),
                                 GetParam().per_host);
  }

  static CollectiveArray Array(ElementType type, int64_t elements, Blocks in, Blocks out) {
    return {type, elements, in, out};
  }

  // An array for `kind` with `n` participants whose part has outer * block elements.
  static CollectiveArray ArrayFor(CollectiveKind kind, ElementType type, int n, int64_t outer,
                                  int64_t block) {
    const int64_t part = outer * block;
    if (kind == CollectiveKind::kAllToAll) return {type, part * n, {outer, block}, {1, part}};
    if (kind == CollectiveKind::kAllGather) return {type, part, {1, part}, {outer, block}};
    if (kind == CollectiveKind::kReduceScatter) return {type, part, {outer, block}, {1, part}};
    return {type, part, {}, {}};
  }

  void Check(CollectiveOp op, bool in_place = false) {
    op.number = number_++;
    op.program_fingerprint = 77;
    op.name = absl::StrCat("collective.", op.number);
    const int partitions = job_->partitions();
    std::vector<std::vector<PartitionId>> groups = op.groups;
    if (groups.empty()) {
      groups.resize(1);
      for (int p = 0; p < partitions; ++p) groups[0].push_back(PartitionId(p));
    }
    std::vector<int> size_of(partitions, 0);
    for (const auto& group : groups) {
      for (PartitionId p : group) size_of[p.value()] = static_cast<int>(group.size());
    }
    Numbers inputs(partitions), want(partitions);
    std::vector<std::vector<Bytes>> in(partitions), out(partitions);
    for (int p = 0; p < partitions; ++p) {
      for (const CollectiveArray& array : op.arrays) {
        std::vector<int>& values = inputs[p].emplace_back(InputElements(op, array, size_of[p]));
        for (int& value : values) value = static_cast<int>(random_() % 9);
        want[p].emplace_back(OutputElements(op, array, size_of[p]), 5);
        in[p].push_back(Encode(array.type, values));
        out[p].push_back(Encode(array.type, want[p].back()));
      }
      if (in_place) out[p] = in[p];
    }
    Define(op, groups, inputs, &want);
    const auto takes_part = [&](int p) {
      return size_of[p] > 0 || op.kind == CollectiveKind::kCollectiveBroadcast;
    };
    std::vector<Future> futures;
    std::shared_ptr<const void> keeper;  // of every second collective
    if (op.number % 2 == 0) keeper = std::make_shared<int>();
    const std::weak_ptr<const void> kept = keeper;
    for (int k = 0; k < partitions; ++k) {
      const int p = static_cast<int>((k + op.number) % partitions);
      if (takes_part(p))
        futures.push_back(job_->Start(op, p, 1, in_place ? out[p] : in[p], &out[p], 0, keeper));
    }
    keeper = nullptr;
    const Future all = Join(futures);
    ASSERT_TRUE(all.AwaitFor(absl::Seconds(60)));
    ASSERT_TRUE(all.status().ok()) << all.status();
    for (int p = 0; p < partitions; ++p) {
      for (size_t a = 0; a < op.arrays.size() && takes_part(p); ++a) {
        ASSERT_EQ(out[p][a], Encode(op.arrays[a].type, want[p][a])) << "partition " << p << ", array " << a;
      }
      if (!in_place) {
        for (size_t a = 0; a < op.arrays.size(); ++a)
          ASSERT_EQ(in[p][a], Encode(op.arrays[a].type, inputs[p][a]));
      }
    }
    ASSERT_TRUE(IsLetGo(kept));
  }

  // Within a while.
  static bool IsLetGo(const std::weak_ptr<const void>& kept) {
    const absl::Time limit = absl::Now() + absl::Seconds(10);
    while (!kept.expired() && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(1));
    return kept.expired();
  }

  // Odd and even members; all; and, with three or more, one group of all but one in reverse order.
  std::vector<std::vector<std::vector<PartitionId>>> Groupings() const {
    const int n = job_->partitions();
    std::vector<std::vector<std::vector<PartitionId>>> all = {{}};
    std::vector<std::vector<PartitionId>> by_parity(2), reversed(1);
    for (int p = 0; p < n / 2 * 2; ++p) by_parity[p % 2].push_back(PartitionId(p));
    for (int p = n - 1; p > 0; --p) reversed[0].push_back(PartitionId(p));
    if (n >= 2) all.push_back(by_parity);
    if (n >= 3) all.push_back(reversed);
    return all;
  }
  int RanksOf(const std::vector<std::vector<PartitionId>>& groups) const {
    return groups.empty() ? job_->partitions() : static_cast<int>(groups[0].size());
  }

  std::unique_ptr<Job> job_;
  std::mt19937 random_{12345};
  int64_t number_ = 0;
};

constexpr CollectiveKind kGroupKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                          CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                          CollectiveKind::kCollectiveBroadcast};

TEST_P(CollectivesTest, EveryKindGroupAndSize) {
  for (CollectiveKind kind : kGroupKinds) {
    for (const auto& groups : Groupings()) {
      for (const auto [outer, block] :
           {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {1, 37}, {3, 5}, {1, 20011}, {7, 701}}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", " << RanksOf(groups)
                                        << " ranks, " << outer << "x" << block);
        CollectiveOp op{kind};
        op.groups = groups;
        op.arrays = {ArrayFor(kind, ElementType::kF32, RanksOf(groups), outer, block)};
        Check(op);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Beyond the size from which receives too are read in pieces.
TEST_P(CollectivesTest, Large) {
  for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kCollectiveBroadcast}) {
    CollectiveOp op{kind};
    op.arrays = {ArrayFor(kind, ElementType::kU8, job_->partitions(), 1, (1 << 20) + 77)};
    Check(op);
    if (HasFatalFailure()) return;
  }
}

// Beyond the size from which outputs are written past the caches; a few setups do.
TEST_P(CollectivesTest, LargerThanTheCaches) {
  const bool by_pointer = job_->partitions() == 4 && GetParam().devices.size() == 1;
  const bool by_pull = job_->partitions() == 3 && GetParam().wire == WireKind::kShm;
  const bool in_slices = job_->partitions() >= 5 && GetParam().per_host == 2;
  if (!by_pointer && !by_pull && !in_slices) GTEST_SKIP();
  for (CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    CollectiveOp op{kind};
    const int64_t whole = kPastCachesBytes / 8 + 7777;
    op.arrays = {ArrayFor(kind, ElementType::kF64, job_->partitions(), 1,
                          kind == CollectiveKind::kAllReduce ? whole : whole / job_->partitions() + 1)};
    Check(op);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CollectivesTest, EveryTypeTogether) {
  for (CollectiveKind kind : kGroupKinds) {
    CollectiveOp op{kind};
    const int n = job_->partitions();
    for (ElementType type : {ElementType::kBF16, ElementType::kU8, ElementType::kS32, ElementType::kF64,
                             ElementType::kC64, ElementType::kF32}) {
      op.arrays.push_back(ArrayFor(kind, type, n, 1, 11 + 4000 * (type == ElementType::kF64)));
    }
    SCOPED_TRACE(static_cast<int>(kind));
    Check(op);
    if (HasFatalFailure()) return;
  }
}

// Eighths, which a float adds exactly: what an f8 makes of the sum does not depend on who hosts the devices.
TEST_P(CollectivesTest, NarrowSumsAreRoundedOnce) {
  const int n = job_->partitions();
  for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}) {
    for (ElementType type : {ElementType::kBF16, ElementType::kF8E4M3FN}) {
      for (int64_t elements : {0, 37, 30011}) {
        const int width = ByteWidth(type);
        CollectiveOp op{kind};
        op.number = number_++;
        op.program_fingerprint = 79;
        op.name = absl::StrCat("collective.", op.number);
        op.arrays = {{type, elements, {1, elements}, {1, elements}}};
        const int64_t whole = InputElements(op, op.arrays[0], n);
        std::vector<std::vector<Bytes>> in(n), out(n);
        std::vector<float> sums(whole, 0);
        for (int p = 0; p < n; ++p) {
          in[p] = {Bytes(whole * width)};
          out[p] = {Bytes(elements * width)};
          for (int64_t i = 0; i < whole; ++i) {
            const uint64_t bits = FloatToBits(type, (static_cast<int>(random_() % 401) - 200) / 8.0);
            std::memcpy(&in[p][0][i * width], &bits, width);
            sums[i] += static_cast<float>(FloatFromBits(type, bits));
          }
        }
        std::vector<Future> futures;
        for (int p = 0; p < n; ++p) futures.push_back(job_->Start(op, p, 1, in[p], &out[p]));
        const Future all = Join(futures);
        ASSERT_TRUE(all.AwaitFor(absl::Seconds(60)) && all.status().ok()) << all.status();
        for (int p = 0; p < n; ++p) {
          const int64_t first = kind == CollectiveKind::kReduceScatter ? p * elements : 0;
          for (int64_t i = 0; i < elements; ++i) {
            uint64_t got = 0;
            std::memcpy(&got, &out[p][0][i * width], width);
            ASSERT_EQ(got, FloatToBits(type, sums[first + i])) << op.name << ", partition " << p << ", " << i;
          }
        }
      }
    }
  }
}

TEST_P(CollectivesTest, AllToAllWithDifferentRowsOnBothSides) {
  const int n = job_->partitions();
  CollectiveOp op{CollectiveKind::kAllToAll};
  op.arrays = {{ElementType::kS32, 24 * n, {4, 6}, {6, 4}},
               {ElementType::kF32, 6000 * n, {1, 6000}, {60, 100}}};
  Check(op);
}

TEST_P(CollectivesTest, Permute) {
  const int n = job_->partitions();
  for (int64_t elements : {0, 3, 70001}) {
    for (int shift = 0; shift < n; ++shift) {
      CollectiveOp op{CollectiveKind::kCollectivePermute};
      op.arrays = {{ElementType::kF32, elements}};
      // The last target has no source, but with shift 0, where everybody keeps its own.
      for (int p = 0; p < n - (shift > 0); ++p)
        op.pairs.emplace_back(PartitionId(p), PartitionId((p + shift) % n));
      Check(op);
      Check(op, /*in_place=*/true);
      if (HasFatalFailure()) return;
    }
  }
}

// Partition 0 sends to the last one, which comes late, and gets nothing: where its memory is kept it need not
// wait, but the memory is read on.
TEST_P(CollectivesTest, ASenderWhoseMemoryIsKeptDoesNotWaitForItsReader) {
  const int last = job_->partitions() - 1;
  if (job_->ProcessOf(last) == 0) GTEST_SKIP();
  for (bool is_kept : {true, false}) {
    CollectiveOp op{CollectiveKind::kCollectivePermute};
    op.number = number_++;
    op.program_fingerprint = 80;
    op.name = absl::StrCat("collective-permute.", op.number);
    op.arrays = {{ElementType::kS32, 300'000}};
    op.pairs = {{PartitionId(0), PartitionId(last)}};
    const Bytes sent = Encode(ElementType::kS32, std::vector<int>(300'000, 7));
    std::vector<std::vector<Bytes>> in(last + 1, {sent}), out(last + 1, {Bytes(sent.size())});
    auto keeper = is_kept ? std::make_shared<int>() : nullptr;
    const std::weak_ptr<int> kept = keeper;
    std::vector<Future> first, rest;
    for (int p = 0; p <= last; ++p) {
      if (job_->ProcessOf(p) == job_->ProcessOf(0))
        first.push_back(job_->Start(op, p, 1, in[p], &out[p], 0, keeper));
    }
    keeper = nullptr;
    EXPECT_EQ(Join(first).AwaitFor(is_kept ? absl::Seconds(10) : absl::Milliseconds(50)), is_kept);
    EXPECT_EQ(kept.expired(), !is_kept);
    for (int p = 0; p <= last; ++p) {
      if (job_->ProcessOf(p) != job_->ProcessOf(0)) rest.push_back(job_->Start(op, p, 1, in[p], &out[p]));
    }
    ASSERT_TRUE(Join(rest).AwaitFor(absl::Seconds(10)) && Join(first).AwaitFor(absl::Seconds(10)));
    EXPECT_EQ(out[last][0], sent);
    EXPECT_TRUE(IsLetGo(kept));
  }
}

TEST_P(CollectivesTest, InPlace) {
  for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kCollectiveBroadcast}) {
    for (int64_t elements : {1, 300, 70001}) {
      CollectiveOp op{kind};
      op.arrays = {{ElementType::kF32, elements}};
      Check(op, /*in_place=*/true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CollectivesTest, AnyDeviceAssignment) {
  std::vector<DeviceId> assignment;
  for (int d = 0; d < job_->partitions(); ++d) assignment.push_back(DeviceId(d));
  std::shuffle(assignment.begin(), assignment.end(), random_);
  job_->SetAssignment(assignment);
  for (CollectiveKind kind : kGroupKinds) {
    for (int64_t block : {5, 20003}) {
      CollectiveOp op{kind};
      op.arrays = {ArrayFor(kind, ElementType::kS32, job_->partitions(), 2, block)};
      Check(op);
      if (HasFatalFailure()) return;
    }
  }
}

// Devices run on threads of their own, collectives of a run start in different orders, many at once.
TEST_P(CollectivesTest, ManyAtOnceFromManyThreads) {
  const int n = job_->partitions();
  constexpr int kOps = 24;
  std::vector<CollectiveOp> ops;
  for (int k = 0; k < kOps; ++k) {
    CollectiveOp op{CollectiveKind::kAllReduce};
    op.arrays = {{ElementType::kS32, k % 3 == 0 ? 5000 : 17}};
    op.number = 1000 + k;
    op.program_fingerprint = 78;
    op.name = absl::StrCat("all-reduce.", k);
    ops.push_back(op);
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int p = 0; p < n; ++p) {
    threads.emplace_back([&, p] {
      for (int64_t run = 10; run < 13; ++run) {
        std::vector<std::vector<Bytes>> in(kOps), out(kOps);
        std::vector<Future> futures;
        for (int i = 0; i < kOps; ++i) {
          const int k = (i * (run == 11 ? 5 : 1) + p) % kOps;
          const int64_t elements = ops[k].arrays[0].elements;
          in[k] = {Encode(ElementType::kS32, std::vector<int>(elements, p + k))};
          out[k] = {Bytes(elements * 4)};
          futures.push_back(job_->Start(ops[k], p, run, in[k], &out[k]));
        }
        wrong += !Join(futures).AwaitFor(absl::Seconds(60)) || !Join(futures).status().ok();
        for (int k = 0; k < kOps; ++k) {
          const std::vector<int> want(ops[k].arrays[0].elements, n * (n - 1) / 2 + n * k);
          wrong += out[k][0] != Encode(ElementType::kS32, want);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, CollectivesTest,
    testing::Values(Setup{{1}, WireKind::kInProcess}, Setup{{4}, WireKind::kInProcess},
                    Setup{{1, 1}, WireKind::kInProcess}, Setup{{1, 1, 1, 1}, WireKind::kInProcessPieces},
                    Setup{{2, 2}, WireKind::kInProcessPieces}, Setup{{1, 3, 2}, WireKind::kInProcess},
                    Setup{{1, 1, 1}, WireKind::kShm}, Setup{{2, 1, 2}, WireKind::kShm},
                    Setup{{1, 1, 1}, WireKind::kShmTwoCopies}, Setup{{2, 2}, WireKind::kShmTwoCopies},
                    Setup{{2, 1, 1}, WireKind::kInProcess, true}, Setup{{1, 1, 1}, WireKind::kShm, true},
                    Setup{{1, 1, 1, 1, 1}, WireKind::kInProcess, false, 1},
                    Setup{{1, 2, 1, 1, 1}, WireKind::kInProcessPieces, false, 1},
                    Setup{{1, 2, 1, 1}, WireKind::kInProcessPieces, false, 2},
                    Setup{{1, 1, 1, 1, 2}, WireKind::kInProcess, false, 2},
                    Setup{{2, 1, 2, 1}, WireKind::kInProcessPushes, false, 2},
                    Setup{{1, 2, 2}, WireKind::kInProcessPushes, true, 2}),
    [](const auto& info) {
      std::ostringstream name;
      name << info.param;
      return name.str();
    });

}  // namespace
}  // namespace shoal
