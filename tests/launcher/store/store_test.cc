// One suite, every KeyValueStore.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/store/callback_store.h"
#include "launcher/store/file_store.h"
#include "launcher/store/memory_store.h"
#include "launcher/store/tcp_server.h"
#include "launcher/store/tcp_store.h"
#include "tests/launcher/forked.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A store as one process sees it, with whatever it needs to live.
class World {
 public:
  virtual ~World() = default;
  virtual KeyValueStore& Of(int process) = 0;
};

class MemoryWorld : public World {
 public:
  KeyValueStore& Of(int) override { return store_; }

 private:
  MemoryStore store_;
};

class CallbackWorld : public World {
 public:
  explicit CallbackWorld(bool try_get) {
    StoreCallbacks callbacks;
    callbacks.put = [this](absl::string_view key, absl::string_view value) {
      return memory_.Set(key, value);
    };
    callbacks.get = [this](absl::string_view key, absl::Duration timeout) {
      return memory_.Get(key, timeout);
    };
    if (try_get) callbacks.try_get = [this](absl::string_view key) { return memory_.TryGet(key); };
    store_ = std::make_unique<CallbackStore>(std::move(callbacks));
  }
  KeyValueStore& Of(int) override { return *store_; }

 private:
  MemoryStore memory_;
  std::unique_ptr<CallbackStore> store_;
};

class FileWorld : public World {
 public:
  FileWorld() {
    char path[] = "/tmp/shoal-store-test-XXXXXX";
    directory_ = mkdtemp(path);
    for (int i = 0; i < 3; ++i) stores_.push_back(*FileStore::Open(directory_ + "/store"));
  }
  ~FileWorld() override { std::filesystem::remove_all(directory_); }
  KeyValueStore& Of(int process) override { return *stores_[process]; }

 private:
  std::string directory_;
  std::vector<std::unique_ptr<FileStore>> stores_;
};

class TcpWorld : public World {
 public:
  TcpWorld() {
    server_ = *TcpServer::Start("test", 0);
    for (int i = 0; i < 3; ++i) {
      stores_.push_back(
          *TcpStore::Connect({absl::StrCat("127.0.0.1:", server_->port())}, "test", absl::Seconds(10)));
    }
  }
  ~TcpWorld() override { stores_.clear(); }
  KeyValueStore& Of(int process) override { return *stores_[process]; }

 private:
  std::unique_ptr<TcpServer> server_;
  std::vector<std::unique_ptr<TcpStore>> stores_;
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<World>()> make;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class StoreTest : public testing::TestWithParam<Kind> {
 protected:
  StoreTest() : world_(GetParam().make()) {}
  KeyValueStore& store(int process) { return world_->Of(process); }

 private:
  std::unique_ptr<World> world_;
};

TEST_P(StoreTest, WhatOneSetsAnotherGets) {
  ASSERT_TRUE(store(0).Set("a/b c", "value").ok());
  EXPECT_EQ(*store(1).Get("a/b c", absl::Seconds(5)), "value");
  EXPECT_EQ(*store(2).TryGet("a/b c"), "value");
}

TEST_P(StoreTest, AnyBytesAreKept) {
  const std::string value("\0\n\xff%\0", 5);
  ASSERT_TRUE(store(0).Set("k", value).ok());
  ASSERT_TRUE(store(0).Set("empty", "").ok());
  EXPECT_EQ(*store(1).Get("k", absl::Seconds(5)), value);
  EXPECT_EQ(*store(1).Get("empty", absl::Seconds(5)), "");
}

TEST_P(StoreTest, KeysThatLookAlikeDiffer) {
  for (const char* key : {"a/b", "a%2Fb", "a%2fb", "a.b", "A/b"})
    ASSERT_TRUE(store(0).Set(key, key).ok()) << key;
  for (const char* key : {"a/b", "a%2Fb", "a%2fb", "a.b", "A/b"}) EXPECT_EQ(*store(1).TryGet(key), key);
}

TEST_P(StoreTest, KeysAreWrittenOnce) {
  ASSERT_TRUE(store(0).Set("k", "first").ok());
  EXPECT_EQ(store(1).Set("k", "second").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*store(2).TryGet("k"), "first");
}

TEST_P(StoreTest, OneOfManyWritersWins) {
  std::vector<std::thread> threads;
  std::vector<absl::Status> results(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { results[i] = store(i).Set("k", std::to_string(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string winner = *store(0).TryGet("k");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(results[i].ok(), winner == std::to_string(i)) << results[i];
}

TEST_P(StoreTest, TryGetOfNothingIsNotFound) {
  EXPECT_EQ(store(0).TryGet("nothing").status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreTest, GetGivesUpAndNamesTheKey) {
  const absl::Time start = absl::Now();
  const absl::Status status = store(0).Get("never", absl::Milliseconds(70)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("never"));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(69));
}

TEST_P(StoreTest, GetWaitsForTheKeyAndHoldsUpNobody) {
  std::string got;
  std::thread waiter([&] { got = store(1).Get("late", absl::Seconds(20)).value_or("none"); });
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(store(1).Set("other", "1").ok());
  ASSERT_TRUE(store(0).Set("late", "came").ok());
  waiter.join();
  EXPECT_EQ(got, "came");
}

TEST_P(StoreTest, LargeValuesAreWhole) {
  const std::string value(5'000'011, 'x');
  std::string got;
  std::thread waiter([&] { got = store(1).Get("big", absl::Seconds(20)).value_or("none"); });
  ASSERT_TRUE(store(0).Set("big", value).ok());
  waiter.join();
  EXPECT_TRUE(got == value) << got.size();
}

INSTANTIATE_TEST_SUITE_P(
    All, StoreTest,
    testing::Values(Kind{"Memory", [] { return std::make_unique<MemoryWorld>(); }},
                    Kind{"Callback", [] { return std::make_unique<CallbackWorld>(true); }},
                    Kind{"CallbackWithoutTryGet", [] { return std::make_unique<CallbackWorld>(false); }},
                    Kind{"File", [] { return std::make_unique<FileWorld>(); }},
                    Kind{"Tcp", [] { return std::make_unique<TcpWorld>(); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FileStoreTest, PlaceThatIsNotThereIsUnavailable) {
  EXPECT_EQ(FileStore::Open("/tmp/shoal-no-such-directory/store").status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(FileStoreTest, FullFileSystemIsNamed) {
  const std::string path = absl::StrCat("/dev/shm/shoal-store-test-full-", getpid());
  // The child, because what it gives up it cannot have back.
  Forked child([&]() -> std::string {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    return std::string(FileStore::Open(path).status().message());
  });
  EXPECT_THAT(child.Result(), AllOf(HasSubstr("there is no room"), HasSubstr(path)));
  unlink(path.c_str());
}

TEST(FileStoreTest, HalfAnEntryOfADeadWriterIsWrittenOver) {
  char path[] = "/tmp/shoal-store-test-XXXXXX";
  const int file = mkstemp(path);
  const auto store = *FileStore::Open(path);
  ASSERT_TRUE(store->Set("first", "1").ok());
  ASSERT_EQ(pwrite(file, "half of a long entry", 20, 8 + 12 + 6), 20);  // head of the file, first entry
  const auto other = *FileStore::Open(path);
  EXPECT_TRUE(other->Set("second", "2").ok());
  EXPECT_EQ(*store->TryGet("first"), "1");
  EXPECT_EQ(*store->TryGet("second"), "2");
  EXPECT_EQ(store->TryGet("third").status().code(), absl::StatusCode::kNotFound);
  close(file);
  unlink(path);
}

TEST(TcpStoreTest, AnotherJobsServerIsNotOurs) {
  const auto server = *TcpServer::Start("mine", 0);
  const auto store =
      TcpStore::Connect({absl::StrCat("127.0.0.1:", server->port())}, "yours", absl::Milliseconds(300));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(store.status().message(), HasSubstr("serves job mine, not yours"));
}

TEST(TcpStoreTest, AddressesAreTriedInTurn) {
  const auto server = *TcpServer::Start("job", 0);
  const auto closed = *Socket::Listen(0);  // never accepted from, and of another port
  const auto store = TcpStore::Connect({"no-such-host.invalid:1", absl::StrCat("127.0.0.1:", server->port())},
                                       "job", absl::Seconds(20));
  EXPECT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(TcpStore::Connect({"nonsense"}, "job", absl::Seconds(20)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TcpStoreTest, ServerThatEndsFailsTheWaiting) {
  auto server = *TcpServer::Start("job", 0, /*linger=*/absl::Milliseconds(100));
  const auto store =
      *TcpStore::Connect({absl::StrCat("127.0.0.1:", server->port())}, "job", absl::Seconds(5));
  absl::Status status;
  std::thread waiter([&] { status = store->Get("never", absl::Seconds(60)).status(); });
  absl::SleepFor(absl::Milliseconds(50));
  server.reset();
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST(TcpStoreTest, LostConnectionSetsItsKey) {
  const auto server = *TcpServer::Start("job", 0);
  const auto store =
      *TcpStore::Connect({absl::StrCat("127.0.0.1:", server->port())}, "job", absl::Seconds(5));
  auto dies = *store->SetWhenLost("gone/1", "died");
  auto leaves = *store->SetWhenLost("gone/2", "died");
  auto stays = *store->SetWhenLost("gone/3", "died");
  EXPECT_TRUE((*stays->List("gone/", absl::Seconds(5)))->empty());
  ASSERT_TRUE(store->Set("gone/2", "left").ok());
  leaves.reset();
  dies.reset();
  EXPECT_EQ(*store->Get("gone/1", absl::Seconds(5)), "died");
  EXPECT_THAT(**stays->List("gone/", absl::Seconds(5)),
              testing::ElementsAre(testing::Pair("gone/1", "died"), testing::Pair("gone/2", "left")));
}

TEST(TcpStoreTest, ClocksOfOneMachineAgree) {
  const auto server = *TcpServer::Start("job", 0);
  const auto store =
      *TcpStore::Connect({absl::StrCat("127.0.0.1:", server->port())}, "job", absl::Seconds(5));
  EXPECT_LT(absl::AbsDuration(*store->ClockLead()), absl::Milliseconds(20));
}

TEST(ClockLeadOfTest, TheQuickestReadingCounts) {
  // The other clock is 1000 ahead; ways of 5 there and back, of 5 and 95, of 200 and 0.
  EXPECT_EQ(ClockLeadOf({{100, 1195, 200}, {300, 1305, 310}, {400, 1600, 600}}), absl::Nanoseconds(1000));
  EXPECT_EQ(ClockLeadOf({{2000, 1003, 2006}}), absl::Nanoseconds(-1000));
}

TEST(TcpServerTest, WhoDoesNotGreetIsNotServed) {
  const auto server = *TcpServer::Start("job", 0);
  const std::string address = absl::StrCat("127.0.0.1:", server->port());
  auto store = *TcpStore::Connect({address}, "job", absl::Seconds(5));
  ASSERT_TRUE(store->Set("here", "secret").ok());
  for (const char* key : {"here", "not here yet"}) {
    const absl::Time deadline = absl::Now() + absl::Seconds(5);
    Socket stranger = *Socket::Connect(address, deadline);
    ASSERT_TRUE(stranger.SendFrame(EncodeRequest(StoreOp::kGet, 60'000, key, ""), deadline).ok());
    const auto reply = stranger.ReceiveFrame(deadline);
    ASSERT_TRUE(reply.ok()) << key << ": " << reply.status();
    EXPECT_EQ(DecodeReply(*reply).status().code(), absl::StatusCode::kFailedPrecondition) << key;
  }
}

TEST(TcpServerTest, HostileBytesCloseOnlyTheirConnection) {
  const auto server = *TcpServer::Start("job", 0);
  const std::string address = absl::StrCat("127.0.0.1:", server->port());
  const absl::Time soon = absl::Now() + absl::Seconds(5);
  auto store = *TcpStore::Connect({address}, "job", absl::Seconds(5));
  for (const std::string& bytes : {std::string(), std::string(3, '\xff'), std::string(50, '\xff')}) {
    Socket socket = *Socket::Connect(address, soon);
    ASSERT_TRUE(socket.SendFrame(bytes, soon).ok());
    const absl::StatusOr<std::string> reply = socket.ReceiveFrame(soon);
    EXPECT_TRUE(!reply.ok() || !DecodeReply(*reply).ok());
  }
  Socket unasked = *Socket::Connect(address, soon);
  ASSERT_TRUE(unasked.SendFrame(EncodeRequest(StoreOp::kSet, 0, "k", "v"), soon).ok());
  EXPECT_EQ(DecodeReply(*unasked.ReceiveFrame(soon)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store->Set("k", "v").ok());
}

}  // namespace
}  // namespace shoal
