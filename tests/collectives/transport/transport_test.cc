// The conformance suite of wires: what Transport promises, over each of them and their crippled variants, on
// one thread. (MPI, which needs mpirun, is covered by tests/collectives/processes.)
#include "collectives/transport/transport.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collectives/transport/in_process_wire.h"
#include "collectives/transport/shm_wire.h"
#include "collectives/transport/ucx_wire.h"
#include "core/memory/allocator.h"
#include "core/memory/shared_pages.h"
#include "launcher/store/memory_store.h"

namespace shoal {
namespace {

#ifdef SHOAL_HAS_UCX
constexpr bool kHasUcx = true;
#else
constexpr bool kHasUcx = false;
#endif

struct Note final : Completion {
  void Done(const absl::Status& s) override {
    ++calls;
    status = s;
  }
  int calls = 0;
  absl::Status status;
};

// Over those that end in Pushes what can be pushed is.
constexpr const char* kWires[] = {"InProcess", "InProcessPieces", "InProcessPushes", "Shm", "ShmTwoCopies",
                                  "Ucx",       "UcxPushes"};
constexpr int kPushes = 2, kShm = 3, kUcx = 5, kUcxPushes = 6;
const ProcessId kA(0), kB(1);

class TransportTest : public testing::TestWithParam<int> {
 protected:
  TransportTest() : hub_(2, Faults()) {
    std::unique_ptr<Wire> wires[2];
    if (GetParam() < kShm) {
      for (int p = 0; p < 2; ++p) wires[p] = hub_.MakeWire(ProcessId(p));
    } else {
      if (GetParam() < kUcx || kHasUcx) MakeByStore(wires);
      if (wires[0] == nullptr || wires[1] == nullptr) return;
    }
    for (int p = 0; p < 2; ++p) {
      std::vector<std::unique_ptr<Wire>> list;
      list.push_back(std::move(wires[p]));
      transports_[p] = std::make_unique<Transport>(
          2, std::move(list),
          [this, p](ProcessId, absl::Span<const char> bytes) {
            control_[p].emplace_back(bytes.begin(), bytes.end());
          },
          [this, p](ProcessId, const absl::Status& why) { lost_[p] = why; });
    }
  }

  void SetUp() override {
    if (transports_[1] == nullptr) GTEST_SKIP() << "this wire is not built here";
  }

  static InProcessHub::Faults Faults() {
    InProcessHub::Faults faults;
    faults.pushes = GetParam() == kPushes;
    faults.no_pull = GetParam() == 1 || faults.pushes;
    return faults;
  }

  absl::StatusOr<std::unique_ptr<Wire>> MakeOne(const Topology& topology) {
    if (GetParam() >= kUcx) return UcxWire::Create(topology, &store_, absl::Seconds(10));
    return ShmWire::Create(topology, &store_, absl::Seconds(10), /*single_copy=*/GetParam() == kShm);
  }

  // Each in a thread, for both wait for the other's word in the store.
  void MakeByStore(std::unique_ptr<Wire>* wires) {
    std::thread threads[2];
    for (int p = 0; p < 2; ++p) {
      threads[p] = std::thread([this, p, wires] {
        Topology topology;
        topology.self = ProcessId(p);
        topology.job = absl::StrCat("transport_test", getpid());
        topology.processes.resize(2);
        for (ProcessInfo& info : topology.processes) info.pid = getpid();
        auto wire = MakeOne(topology);
        ASSERT_TRUE(wire.ok()) << wire.status();
        wires[p] = *std::move(wire);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void PollUntil(const std::function<bool()>& done) {
    for (const absl::Time end = absl::Now() + absl::Seconds(10); !done() && absl::Now() < end;) {
      a().Poll();
      b().Poll();
    }
    ASSERT_TRUE(done());
  }

  static void Send(Transport& from, ProcessId to, const MessageTag& tag, absl::Span<const char> data,
                   Note* sent) {
    const bool pushes = GetParam() == kPushes || GetParam() == kUcxPushes;
    from.Send(to, tag, data, sent, pushes && from.CanPush(to, static_cast<int64_t>(data.size())));
  }
  static MessageTag Tag(uint64_t part) { return {42, part}; }
  static std::vector<char> Pattern(int64_t size) {
    std::vector<char> data(size);
    for (int64_t i = 0; i < size; ++i) data[i] = static_cast<char>(i * 131 + size + i / 251);
    return data;
  }
  Transport& a() { return *transports_[0]; }
  Transport& b() { return *transports_[1]; }

  MemoryStore store_;
  InProcessHub hub_;
  std::unique_ptr<Transport> transports_[2];
  std::vector<std::vector<char>> control_[2];
  absl::Status lost_[2];
};

TEST_P(TransportTest, AnySizeInAnyOrder) {
  for (int64_t size : {0, 1, 1000, 1024, 1025, 16384, 16385, 300001, 5000000}) {
    for (bool receive_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << size << (receive_first ? ", receive first" : ", send first"));
      const std::vector<char> data = Pattern(size);
      std::vector<char> got(size);
      Note sent, received;
      if (receive_first) b().Receive(kA, Tag(1), absl::MakeSpan(got), &received);
      Send(a(), kB, Tag(1), data, &sent);
      for (int i = 0; i < 3; ++i) b().Poll();
      if (!receive_first) b().Receive(kA, Tag(1), absl::MakeSpan(got), &received);
      PollUntil([&] { return sent.calls > 0 && received.calls > 0; });
      EXPECT_TRUE(sent.status.ok() && received.status.ok()) << received.status;
      EXPECT_EQ(sent.calls + received.calls, 2);
      ASSERT_EQ(got, data);
    }
  }
}

TEST_P(TransportTest, ViewsReadPieces) {
  for (int64_t size : {0, 10, 1024, 70000, 2000001}) {
    const std::vector<char> data = Pattern(size);
    std::vector<char> got(size);
    Note sent, here;
    MessageView view;
    Send(a(), kB, Tag(2), data, &sent);
    b().View(kA, Tag(2), size, &view, &here);
    PollUntil([&] { return here.calls > 0; });
    for (int64_t at = 0; at < size; at += 33333) {
      const int64_t n = std::min<int64_t>(33333, size - at);
      ASSERT_TRUE(b().Read(view, at, absl::MakeSpan(got).subspan(at, n)).ok());
    }
    ASSERT_EQ(got, data);
    b().Release(&view);
    PollUntil([&] { return sent.calls > 0; });
  }
}

TEST_P(TransportTest, ManyMessagesBothWaysFindTheirReceives) {
  constexpr int kMessages = 300;
  std::vector<std::vector<char>> data, to_a(kMessages), to_b(kMessages);
  std::vector<Note> notes(4 * kMessages);
  for (int i = 0; i < kMessages; ++i) data.push_back(Pattern(i % 7 == 0 ? 5000 + i : i));
  for (int i = 0; i < kMessages; ++i) {
    Send(a(), kB, Tag(100 + i), data[i], &notes[4 * i]);
    Send(b(), kA, Tag(100 + i), data[i], &notes[4 * i + 1]);
    if (i % 50 == 0) b().Poll();
  }
  for (int i = kMessages - 1; i >= 0; --i) {
    to_a[i].resize(data[i].size());
    to_b[i].resize(data[i].size());
    a().Receive(kB, Tag(100 + i), absl::MakeSpan(to_a[i]), &notes[4 * i + 2]);
    b().Receive(kA, Tag(100 + i), absl::MakeSpan(to_b[i]), &notes[4 * i + 3]);
  }
  PollUntil([&] {
    for (const Note& note : notes) {
      if (note.calls == 0) return false;
    }
    return true;
  });
  EXPECT_EQ(to_a, data);
  EXPECT_EQ(to_b, data);
}

TEST_P(TransportTest, WrongSizeFailsTheReceiveAndTouchesNothing) {
  for (int64_t size : {10, 70000}) {
    const std::vector<char> data = Pattern(size);
    std::vector<char> got(5, 'x');
    Note sent, received;
    b().Receive(kA, Tag(3), absl::MakeSpan(got), &received);
    Send(a(), kB, Tag(3), data, &sent);
    PollUntil([&] { return sent.calls > 0 && received.calls > 0; });
    EXPECT_EQ(received.status.message(),
              absl::StrCat("process 0 sent ", size, " bytes where 5 were expected"));
    EXPECT_EQ(got, std::vector<char>(5, 'x'));
  }
}

TEST_P(TransportTest, CancelForgetsBothSides) {
  std::vector<char> data = Pattern(300000), got(300000, 'x');
  Note sent, received;
  Send(a(), kB, Tag(4), data, &sent);
  b().Poll();
  // What is being pushed leaves first, which takes a receiver that looks.
  std::atomic<bool> cancelled{false};
  std::thread receiver([&] {
    while (!cancelled) b().Poll();
  });
  a().Cancel(42);
  cancelled = true;
  receiver.join();
  std::fill(data.begin(), data.end(), 'y');  // the sender's memory has another use now
  b().Receive(kA, Tag(4), absl::MakeSpan(got), &received);
  for (int i = 0; i < 50; ++i) {
    a().Poll();
    b().Poll();
  }
  EXPECT_EQ(sent.calls, 0);
  // What was pushed may be here, as it was.
  if (received.calls > 0 && received.status.ok()) {
    EXPECT_EQ(got, Pattern(300000));
    EXPECT_TRUE(GetParam() == kPushes || GetParam() == kUcxPushes);
  }
  b().Cancel(42);
  // Another collective goes on as if nothing had been.
  Note again_sent, again;
  const std::vector<char> more = Pattern(100000);
  got.resize(more.size());
  Send(a(), kB, {43, 4}, more, &again_sent);
  b().Receive(kA, {43, 4}, absl::MakeSpan(got), &again);
  PollUntil([&] { return again.calls > 0 && again_sent.calls > 0; });
  EXPECT_EQ(got, more);
}

// Arrays of an allocator lie in pages that the peer has mapped, where the system has such pages.
TEST_P(TransportTest, ArraysInSharedPagesAreReadInPlace) {
  if (GetParam() != kShm || SharedPages::Get() == nullptr) GTEST_SKIP() << "no shared pages";
  Allocator allocator("test", 1 << 30);
  const std::vector<char> data = Pattern(5000001);
  char* array = static_cast<char*>(*allocator.Allocate(data.size(), "array"));
  std::memcpy(array, data.data(), data.size());
  Note sent[3], here, late, received;
  MessageView view, given_up;
  std::vector<char> got(300000);
  Send(a(), kB, Tag(4), {array, data.size()}, &sent[0]);
  Send(a(), kB, Tag(5), {array + 70001, got.size()}, &sent[1]);
  Send(a(), kB, {44, 1}, {array, data.size()}, &sent[2]);
  b().View(kA, Tag(4), static_cast<int64_t>(data.size()), &view, &here);
  b().Receive(kA, Tag(5), absl::MakeSpan(got), &received);
  b().View(kA, {44, 1}, static_cast<int64_t>(data.size()), &given_up, &late);
  PollUntil([&] { return here.calls > 0 && received.calls > 0 && late.calls > 0; });
  ASSERT_NE(view.data, nullptr);
  EXPECT_NE(view.data, array);
  EXPECT_EQ(std::memcmp(view.data, data.data(), data.size()), 0);
  EXPECT_TRUE(b().CheckRead(view).ok());
  EXPECT_EQ(std::memcmp(got.data(), data.data() + 70001, got.size()), 0);
  b().Release(&view);
  PollUntil([&] { return sent[0].calls > 0 && sent[1].calls > 0; });
  a().Cancel(44);  // and writes something else there
  EXPECT_EQ(b().CheckRead(given_up).code(), absl::StatusCode::kAborted);
  b().Release(&given_up);
  allocator.Free(array);
}

TEST_P(TransportTest, LostPeerFailsReceivesButNotWhatIsHere) {
  const std::vector<char> data = Pattern(100), large = Pattern(100000);
  std::vector<char> first(100), second(100), third(large.size());
  Note sent, large_sent, here, never, offered, late_send;
  Send(a(), kB, Tag(5), data, &sent);
  Send(a(), kB, Tag(8), large, &large_sent);
  b().Receive(kA, Tag(6), absl::MakeSpan(second), &never);
  a().SendControl(kB, {'o', 'k'});  // behind the message
  PollUntil([&] { return !control_[1].empty(); });
  b().PeerLost(kA, absl::UnavailableError("process 0 went away"));
  EXPECT_EQ(never.status.message(), "process 0 went away");
  EXPECT_EQ(lost_[1].message(), "process 0 went away");
  b().Receive(kA, Tag(5), absl::MakeSpan(first), &here);
  EXPECT_TRUE(here.calls == 1 && here.status.ok()) << here.status;
  EXPECT_EQ(first, data);
  // What lies with A may be readable still; whether it is or not, nobody waits for it.
  b().Receive(kA, Tag(8), absl::MakeSpan(third), &offered);
  EXPECT_EQ(offered.calls, 1);
  a().Cancel(Tag(8).collective);
  Send(b(), kA, Tag(7), Pattern(100000), &late_send);
  EXPECT_TRUE(late_send.calls == 1 && late_send.status.ok());
}

TEST_P(TransportTest, ControlKeepsItsPlaceBeforeData) {
  Note sent, received;
  std::vector<char> got(3);
  size_t controls_at_receipt = 0;
  a().SendControl(kB, {'h', 'i'});
  Send(a(), kB, Tag(8), Pattern(3), &sent);
  b().Receive(kA, Tag(8), absl::MakeSpan(got), &received);
  PollUntil([&] {
    if (received.calls == 1 && controls_at_receipt == 0) controls_at_receipt = control_[1].size();
    return received.calls > 0;
  });
  ASSERT_EQ(controls_at_receipt, 1u);
  EXPECT_EQ(control_[1][0], (std::vector<char>{'h', 'i'}));
}

TEST_P(TransportTest, AnAnnouncementGoesBeforeItsMessage) {
  const std::vector<char> said = Pattern(90);
  size_t messages = 0;
  for (const int64_t size : {0, 3, 16 << 10, 100000}) {
    const std::vector<char> data = Pattern(size);
    std::vector<char> got(size);
    Note sent, received;
    const bool pushes = GetParam() == kPushes || GetParam() == kUcxPushes;
    a().Send(kB, Tag(size), data, &sent, pushes && a().CanPush(kB, size), said);
    b().Receive(kA, Tag(size), absl::MakeSpan(got), &received);
    size_t announced_at_receipt = 0;
    PollUntil([&] {
      if (received.calls == 1 && announced_at_receipt == 0) announced_at_receipt = control_[1].size();
      return received.calls == 1 && sent.calls == 1;
    });
    EXPECT_EQ(announced_at_receipt, ++messages);
    EXPECT_EQ(control_[1].back(), said);
    EXPECT_EQ(got, data);
  }
}

TEST(CorruptFrameTest, AnnouncementLongerThanItsFrameIsNoMessage) {
  InProcessHub hub(2);
  const std::unique_ptr<Wire> peer = hub.MakeWire(kA);
  std::vector<std::unique_ptr<Wire>> wires;
  wires.push_back(hub.MakeWire(kB));
  int controls = 0;
  Transport transport(
      2, std::move(wires), [&](ProcessId, absl::Span<const char>) { ++controls; },
      [](ProcessId, const absl::Status&) {});
  const MessageTag tag{1, 2};
  char memory[8];
  Note note;
  transport.Receive(kA, tag, absl::MakeSpan(memory), &note);
  const FrameHeader header{.kind = FrameKind::kEager, .length = 8, .tag = tag, .front_bytes = 10};
  ASSERT_TRUE(peer->TrySend(kB, header, "12345678"));
  transport.Poll();
  EXPECT_TRUE(controls == 0 && note.calls == 0);
}

TEST(CorruptFrameTest, PieceOutsideItsMessageTouchesNothing) {
  InProcessHub::Faults faults;
  faults.no_pull = true;
  InProcessHub hub(2, faults);
  const std::unique_ptr<Wire> peer = hub.MakeWire(kA);
  std::vector<std::unique_ptr<Wire>> wires;
  wires.push_back(hub.MakeWire(kB));
  Transport transport(
      2, std::move(wires), [](ProcessId, absl::Span<const char>) {}, [](ProcessId, const absl::Status&) {});
  std::string memory(3000, '-');
  Note note, second;
  const MessageTag tag{1, 2};
  transport.Receive(kA, tag, absl::MakeSpan(&memory[1000], 1000), &note);
  const FrameHeader bulk{.kind = FrameKind::kBulk, .tag = tag, .bulk_id = 7, .bulk_size = 1000};
  ASSERT_TRUE(peer->TrySend(kB, bulk, {}));
  transport.Poll();
  for (const uint64_t offset : {uint64_t{0} - 8, uint64_t{993}, uint64_t{1000}, uint64_t{1} << 63}) {
    const FrameHeader piece{.kind = FrameKind::kBulkData, .length = 8, .bulk_id = 7, .piece_offset = offset};
    ASSERT_TRUE(peer->TrySend(kB, piece, "XXXXXXXX"));
    transport.Poll();
  }
  EXPECT_EQ(memory, std::string(3000, '-'));
  EXPECT_EQ(note.calls, 0);
  // Another message of the same number would never come.
  const MessageTag other{1, 3};
  transport.Receive(kA, other, absl::MakeSpan(&memory[0], 1000), &second);
  FrameHeader again = bulk;
  again.tag = other;
  ASSERT_TRUE(peer->TrySend(kB, again, {}));
  transport.Poll();
  EXPECT_EQ(second.status.code(), absl::StatusCode::kInternal);
}

// Whoever unwatches is told of what rang meanwhile, if the sleeper was not.
TEST(DoorbellTest, WatchersSpareTheSleeperButMissNothing) {
  for (int round = 0; round < 200; ++round) {
    Doorbell bell;
    std::atomic<bool> woken{false};
    std::thread sleeper([&, ticket = bell.Ticket()] {
      bell.Wait(ticket, absl::Seconds(10));
      woken = true;
    });
    bell.Watch();
    const uint32_t looked = bell.Ticket();
    if (round % 2 == 0) std::this_thread::yield();
    std::thread ringer([&] { bell.Ring(); });
    if (round % 3 == 0) std::this_thread::yield();
    if (!bell.Unwatch(looked)) woken = true;
    ringer.join();
    for (const absl::Time end = absl::Now() + absl::Seconds(5); !woken && absl::Now() < end;)
      std::this_thread::yield();
    EXPECT_TRUE(woken) << round;
    bell.Ring();
    sleeper.join();
  }
}

TEST(DoorbellTest, KnocksWakeWhoAwaitsThem) {
  Doorbell bell;
  const uint32_t before = bell.Ticket();
  bell.AwaitKnocks(false);
  bell.Knock();
  EXPECT_EQ(bell.Ticket(), before);
  bell.Ring();
  EXPECT_NE(bell.Ticket(), before);
  bell.AwaitKnocks(true);
  std::atomic<bool> woken{false};
  std::thread sleeper([&, ticket = bell.Ticket()] {
    bell.Wait(ticket, absl::Seconds(10));
    woken = true;
  });
  bell.Knock();
  for (const absl::Time end = absl::Now() + absl::Seconds(5); !woken && absl::Now() < end;)
    std::this_thread::yield();
  EXPECT_TRUE(woken);
  bell.Ring();
  sleeper.join();
}

// Whether the receiver does not look for them, or looks and does not want them yet: what is kept of them has
// a bound, beyond which sends end as they are taken. Then all is as before.
TEST_P(TransportTest, SmallMessagesThatNobodyTakesAreHeldBack) {
  constexpr int kMost = 40'000;
  for (const bool looks : {false, true}) {
    if (!looks && GetParam() < kShm) continue;  // these wires keep anything
    SCOPED_TRACE(looks);
    const int size = looks ? 200 : 2000;
    std::vector<std::vector<char>> sent, received;
    std::deque<Note> sends, receives;
    const auto ended = [](const std::deque<Note>& notes) {
      return std::all_of(notes.begin(), notes.end(), [](const Note& note) { return note.calls == 1; });
    };
    sent.reserve(kMost);
    for (int i = 0, waiting = 0; i < kMost && waiting < 30; ++i) {
      sent.push_back(Pattern(size));
      std::memcpy(sent.back().data(), &i, sizeof i);
      a().Send(kB, Tag(i), sent.back(), &sends.emplace_back());
      waiting += sends.back().calls == 0;
      if (looks && i % 16 == 0) {
        b().Poll();
        a().Poll();
      }
    }
    EXPECT_GT(sent.size(), 10'000);
    EXPECT_LT(sent.size(), 35'000);
    received.assign(sent.size(), std::vector<char>(size));
    for (int i = static_cast<int>(sent.size()) - 1; i >= 0; --i) {
      b().Receive(kA, Tag(i), absl::MakeSpan(received[i]), &receives.emplace_back());
    }
    PollUntil([&] { return ended(receives) && ended(sends); });
    EXPECT_TRUE(received == sent);
    a().Poll();
    Note last;
    a().Send(kB, Tag(0), sent[0], &last);
    EXPECT_EQ(last.calls, 1);
    b().Receive(kA, Tag(0), absl::MakeSpan(received[0]), &last);
    PollUntil([&] { return last.calls == 2; });
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, TransportTest, testing::Range(0, kUcxPushes + 1),
                         [](const auto& info) { return kWires[info.param]; });

}  // namespace
}  // namespace shoal
