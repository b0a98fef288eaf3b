// Send and recv with the host, as a tool on PJRT uses them: programs in StableHLO's text, callbacks in C.
// What programs compute is worked out here by hand.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/hlo/proto/hlo.pb.h"
#include "gmock/gmock.h"
#include "tests/plugin/api/c_api_caller.h"

namespace shoal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Text of the two operations: `out = send(operands, token)`, `results = recv(token)`.
std::string Channel(int64_t id, int type) {
  return absl::StrCat("{channel_handle = #stablehlo.channel_handle<handle = ", id, ", type = ", type,
                      ">, is_host_transfer = true}");
}
std::string Send(absl::string_view out, int64_t channel, absl::string_view operands,
                 absl::string_view types) {
  return absl::StrCat(out, " = \"stablehlo.send\"(", operands, ") ", Channel(channel, 2), " : (", types,
                      ", !stablehlo.token) -> !stablehlo.token\n");
}
std::string Recv(absl::string_view results, int64_t channel, absl::string_view token,
                 absl::string_view types) {
  return absl::StrCat(results, " = \"stablehlo.recv\"(", token, ") ", Channel(channel, 3),
                      " : (!stablehlo.token) -> (", types, ", !stablehlo.token)\n");
}
// @main, f32[4] to f32[4], with a first token.
std::string Main(absl::string_view body) {
  return absl::StrCat("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n",
                      "%t = stablehlo.after_all : !stablehlo.token\n", body, "}\n");
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A stream in a tool's hands; destroyed with it.
class Stream {
 public:
  Stream(CApiTest* test, PJRT_CopyToDeviceStream* stream) : test_(test), stream_(stream) {}
  Stream(Stream&& other) noexcept : test_(other.test_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    auto args = ARGS(CopyToDeviceStream_Destroy);
    args.stream = stream_;
    EXPECT_EQ(test_->Message(test_->api_->PJRT_CopyToDeviceStream_Destroy(&args)), "");
  }
  // "" or the error of the returned event.
  std::string Add(const std::string& bytes) {
    auto* kept = new std::string(bytes);
    PJRT_Chunk chunk = {kept->data(), kept->size(),
                        [](void*, void* kept) { delete static_cast<std::string*>(kept); }, kept};
    auto args = ARGS(CopyToDeviceStream_AddChunk);
    args.stream = stream_;
    args.chunk = &chunk;
    EXPECT_EQ(test_->Message(test_->api_->PJRT_CopyToDeviceStream_AddChunk(&args)), "");
    return test_->Await(args.transfer_complete);
  }
  int64_t total() const {
    auto args = ARGS(CopyToDeviceStream_TotalBytes);
    args.stream = stream_;
    EXPECT_EQ(test_->Message(test_->api_->PJRT_CopyToDeviceStream_TotalBytes(&args)), "");
    return args.total_bytes;
  }
  int64_t current() const {
    auto args = ARGS(CopyToDeviceStream_CurrentBytes);
    args.stream = stream_;
    EXPECT_EQ(test_->Message(test_->api_->PJRT_CopyToDeviceStream_CurrentBytes(&args)), "");
    return args.current_bytes;
  }
  int64_t granule() const {
    auto args = ARGS(CopyToDeviceStream_GranuleSize);
    args.stream = stream_;
    EXPECT_EQ(test_->Message(test_->api_->PJRT_CopyToDeviceStream_GranuleSize(&args)), "");
    return args.granule_size_in_bytes;
  }

 private:
  CApiTest* test_;
  PJRT_CopyToDeviceStream* stream_;
};

struct Sent {
  int64_t channel;
  std::string bytes;
  size_t total;
  bool done;
};

// The tool's side of one device of a run. Callbacks may come from several threads.
class Host {
 public:
  explicit Host(CApiTest* test) : test_(test) {}

  // Before Callbacks. Called at each send or recv; the former's answer is the callback's error.
  std::function<std::string(const Sent&)> on_send = [](const Sent&) { return ""; };
  std::function<void(int64_t, Stream)> on_recv = [](int64_t, Stream) {};

  std::vector<PJRT_SendCallbackInfo> Sends(const std::vector<int64_t>& channels) {
    std::vector<PJRT_SendCallbackInfo> infos;
    for (int64_t channel : channels) infos.push_back({channel, Argument(channel), SendTo});
    return infos;
  }
  std::vector<PJRT_RecvCallbackInfo> Recvs(const std::vector<int64_t>& channels) {
    std::vector<PJRT_RecvCallbackInfo> infos;
    for (int64_t channel : channels) infos.push_back({channel, Argument(channel), RecvFrom});
    return infos;
  }
  std::vector<Sent> sent() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return sent_;
  }

 private:
  struct Side {
    Host* host;
    int64_t channel;
  };
  Side* Argument(int64_t channel) {
    return sides_.emplace_back(std::make_unique<Side>(Side{this, channel})).get();
  }
  static PJRT_Error* SendTo(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t total, bool done,
                            void* side) {
    auto [host, channel] = *static_cast<Side*>(side);
    const Sent sent = {channel, std::string(static_cast<const char*>(chunk->data), chunk->size), total, done};
    chunk->deleter(chunk->data, chunk->deleter_arg);
    {
      std::lock_guard<std::mutex> lock(host->mutex_);
      host->sent_.push_back(sent);
    }
    const std::string message = host->on_send(sent);
    return message.empty() ? nullptr : (*error)(PJRT_Error_Code_ABORTED, message.data(), message.size());
  }
  static void RecvFrom(PJRT_CopyToDeviceStream* stream, void* side) {
    auto [host, channel] = *static_cast<Side*>(side);
    host->on_recv(channel, Stream(host->test_, stream));
  }

  CApiTest* test_;
  std::vector<std::unique_ptr<Side>> sides_;
  mutable std::mutex mutex_;
  std::vector<Sent> sent_;  // guarded by mutex_
};

// Streams that wait until a given number of them is there.
class Collected {
 public:
  void Add(int64_t channel, Stream stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.emplace_back(channel, std::move(stream));
    changed_.notify_all();
  }
  // Empty if they do not come.
  std::vector<std::pair<int64_t, Stream>> Await(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return streams_.size() >= count; });
    return std::move(streams_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<int64_t, Stream>> streams_;
};

class HostTransferTest : public CApiTest {
 public:
  struct Result {
    std::string error;  // of Execute, or of the device's event
    std::vector<float> values;
  };

  // Runs `program` on the first `hosts.size()` devices with the argument (10 * device + 1, +2, +3, +4).
  std::vector<Result> Run(
      const std::string& program, const std::vector<Host*>& hosts, const std::vector<int64_t>& sends,
      const std::vector<int64_t>& recvs, const std::function<void()>& meanwhile = [] {}) {
    std::vector<int64_t> ids(hosts.size());
    std::iota(ids.begin(), ids.end(), 0);
    PJRT_LoadedExecutable* executable = Compile(program, ids);
    if (executable == nullptr) return {{"not compiled", {}}};
    std::vector<Result> results = Execute(executable, hosts, sends, recvs, meanwhile);
    Destroy(executable);
    return results;
  }

  std::vector<Result> Execute(PJRT_LoadedExecutable* executable, const std::vector<Host*>& hosts,
                              const std::vector<int64_t>& sends, const std::vector<int64_t>& recvs,
                              const std::function<void()>& meanwhile) {
    const size_t n = hosts.size();
    std::vector<std::vector<PJRT_SendCallbackInfo>> send_infos;
    std::vector<std::vector<PJRT_RecvCallbackInfo>> recv_infos;
    std::vector<PJRT_SendCallbackInfo*> send_lists;
    std::vector<PJRT_RecvCallbackInfo*> recv_lists;
    std::vector<PJRT_Buffer*> arguments, outputs;
    std::vector<PJRT_Event*> events;
    for (size_t d = 0; d < n; ++d) {
      send_infos.push_back(hosts[d]->Sends(sends));
      recv_infos.push_back(hosts[d]->Recvs(recvs));
      const float first = static_cast<float>(10 * d);
      arguments.push_back(Put({first + 1, first + 2, first + 3, first + 4}, static_cast<int>(d)));
    }
    for (size_t d = 0; d < n; ++d) {
      send_lists.push_back(send_infos[d].data());
      recv_lists.push_back(recv_infos[d].data());
    }
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    options.send_callbacks = send_lists.data();
    options.recv_callbacks = recv_lists.data();
    options.num_send_ops = sends.size();
    options.num_recv_ops = recvs.size();
    const std::string message = Launch(executable, arguments, options, &outputs, &events);
    for (auto& infos : send_infos) infos.clear();  // the lists may go
    std::vector<Result> results;
    if (message.empty()) meanwhile();
    for (size_t d = 0; d < n; ++d) {
      Result& result = results.emplace_back(Result{message, {}});
      if (message.empty()) {
        result.error = Await(events[d]);
        if (result.error.empty()) result.values = Get(outputs[d]);
        Destroy(outputs[d]);
      }
      Destroy(arguments[d]);
    }
    return results;
  }
};

TEST_F(HostTransferTest, SendsAndIsFilledInPiecesByAnotherThread) {
  Host host(this);
  std::thread later;
  host.on_recv = [&](int64_t, Stream stream) {
    later = std::thread([stream = std::make_shared<Stream>(std::move(stream))] {
      EXPECT_EQ(stream->total(), 16);
      EXPECT_EQ(stream->granule(), 1);
      const std::string bytes = BytesOf<float>({5, 6, 7, 8});
      EXPECT_EQ(stream->Add(bytes.substr(0, 1)), "");
      EXPECT_EQ(stream->Add(""), "");
      EXPECT_EQ(stream->Add(bytes.substr(1, 9)), "");
      EXPECT_EQ(stream->current(), 10);
      EXPECT_THAT(stream->Add(bytes), AllOf(HasSubstr("a chunk of 16 bytes"), HasSubstr("6 of 16")));
      EXPECT_EQ(stream->Add(bytes.substr(10)), "");
      EXPECT_THAT(stream->Add("x"), HasSubstr("0 of 16"));
    });
  };
  const auto results = Run(
      Main(absl::StrCat(Send("%t1", 1, "%x, %t", "tensor<4xf32>"), Recv("%y, %t2", 2, "%t1", "tensor<4xf32>"),
                        "%z = stablehlo.multiply %x, %y : tensor<4xf32>\n", "return %z : tensor<4xf32>\n")),
      {&host}, {1}, {2, 77});
  EXPECT_EQ(results[0].error, "");
  EXPECT_THAT(results[0].values, ElementsAre(5, 12, 21, 32));
  ASSERT_EQ(host.sent().size(), 1);
  EXPECT_THAT(Floats(host.sent()[0].bytes), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(host.sent()[0].total, 16);
  EXPECT_TRUE(host.sent()[0].done);
  later.join();
}

TEST_F(HostTransferTest, SeveralArraysAreOneTransfer) {
  Host host(this);
  host.on_recv = [&](int64_t, Stream stream) {
    EXPECT_EQ(stream.total(), 18);
    EXPECT_EQ(stream.Add(std::string("\x07\x09", 2) + BytesOf<float>({1})), "");
    EXPECT_EQ(stream.Add(BytesOf<float>({2, 3, 4})), "");
  };
  const auto results = Run(
      Main(absl::StrCat("%c = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>\n",
                        Send("%t1", 3, "%c, %x, %t", "tensor<4xi8>, tensor<4xf32>"),
                        Recv("%y:3", 3, "%t1", "tensor<2xui8>, tensor<4xf32>"),
                        "%s = stablehlo.slice %y#0 [1:2] : (tensor<2xui8>) -> tensor<1xui8>\n",
                        "%f = stablehlo.convert %s : (tensor<1xui8>) -> tensor<1xf32>\n",
                        "%b = stablehlo.broadcast_in_dim %f, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>\n",
                        "%z = stablehlo.multiply %b, %y#1 : tensor<4xf32>\nreturn %z : tensor<4xf32>\n")),
      {&host}, {3}, {3});
  EXPECT_EQ(results[0].error, "");
  EXPECT_THAT(results[0].values, ElementsAre(9, 18, 27, 36));
  const std::vector<Sent> sent = host.sent();
  ASSERT_EQ(sent.size(), 2);
  EXPECT_EQ(sent[0].bytes, std::string("\x01\x02\x03\x04"));
  EXPECT_EQ(sent[0].total, 20);
  EXPECT_FALSE(sent[0].done);
  EXPECT_THAT(Floats(sent[1].bytes), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(sent[1].done);
}

TEST_F(HostTransferTest, TokensOrderTransfersInLoopsAndBranches) {
  // Each turn sends the state and takes the next one; odd turns send twice.
  const std::string turn = absl::StrCat(Send("%u1", 1, "%s, %u", "tensor<4xf32>"), R"(
    %two = stablehlo.constant dense<2> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %odd = stablehlo.remainder %i, %two : tensor<i32>
    %is_even = stablehlo.compare EQ, %odd, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %u2 = "stablehlo.if"(%is_even) ({ stablehlo.return %u1 : !stablehlo.token }, {
      )",
                                        Send("%v", 2, "%i, %u1", "tensor<i32>"), R"(
      stablehlo.return %v : !stablehlo.token
    }) : (tensor<i1>) -> !stablehlo.token
    )",
                                        Recv("%n, %u3", 3, "%u2", "tensor<4xf32>"), R"(
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %n, %u3 : tensor<i32>, tensor<4xf32>, !stablehlo.token
)");
  const std::string body =
      absl::StrCat(R"(
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<4> : tensor<i32>
    %r:3 = "stablehlo.while"(%start, %x, %t) ({
    ^bb0(%i: tensor<i32>, %s: tensor<4xf32>, %u: !stablehlo.token):
      %end = stablehlo.constant dense<4> : tensor<i32>
      %less = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }, {
    ^bb0(%i: tensor<i32>, %s: tensor<4xf32>, %u: !stablehlo.token):
    )",
                   turn, R"(
    }) : (tensor<i32>, tensor<4xf32>, !stablehlo.token) -> (tensor<i32>, tensor<4xf32>, !stablehlo.token)
    )",
                   Send("%last", 2, "%limit, %r#2", "tensor<i32>"), "return %r#1 : tensor<4xf32>\n");
  Host host(this);
  std::vector<std::string> heard;  // calls follow one another
  host.on_send = [&](const Sent& sent) {
    heard.push_back(sent.channel == 1 ? absl::StrCat("state ", Floats(sent.bytes)[0])
                                      : absl::StrCat("turn ", static_cast<int>(sent.bytes[0])));
    return "";
  };
  host.on_recv = [&](int64_t, Stream stream) {
    const std::vector<float> state =
        Floats(host.sent()[host.sent().size() - 1].channel == 1 ? host.sent().back().bytes
                                                                : host.sent()[host.sent().size() - 2].bytes);
    heard.push_back("next");
    EXPECT_EQ(stream.Add(BytesOf<float>({state[0] * 2, state[1], state[2], state[3] + 1})), "");
  };
  const auto results = Run(Main(body), {&host}, {1, 2}, {3});
  EXPECT_EQ(results[0].error, "");
  EXPECT_THAT(results[0].values, ElementsAre(16, 2, 3, 8));
  EXPECT_THAT(heard, ElementsAre("state 1", "next", "state 2", "turn 1", "next", "state 4", "next", "state 8",
                                 "turn 3", "next", "turn 4"));
}

// Two arrays of independent tokens, given in any order; their join waits for both.
TEST_F(HostTransferTest, IndependentTokensMayBeServedInAnyOrder) {
  Host host(this);
  Collected collected;
  host.on_recv = [&](int64_t channel, Stream stream) { collected.Add(channel, std::move(stream)); };
  const std::string program =
      Main(absl::StrCat(Recv("%a, %ta", 1, "%t", "tensor<4xf32>"), Recv("%b, %tb", 2, "%t", "tensor<4xf32>"),
                        "%both = stablehlo.after_all %ta, %tb : !stablehlo.token\n",
                        "%z = stablehlo.subtract %a, %b : tensor<4xf32>\n",
                        Send("%te", 3, "%x, %both", "tensor<4xf32>"), "return %z : tensor<4xf32>\n"));
  for (int64_t first : {1, 2}) {
    const auto results = Run(program, {&host}, {3}, {1, 2}, [&] {
      auto streams = collected.Await(2);
      ASSERT_EQ(streams.size(), 2);
      std::sort(streams.begin(), streams.end(),
                [&](const auto& a, const auto& b) { return (a.first == first) > (b.first == first); });
      const size_t before = host.sent().size();
      for (auto& [channel, stream] : streams) {
        EXPECT_EQ(host.sent().size(), before);
        const float value = static_cast<float>(10 * channel);
        EXPECT_EQ(stream.Add(BytesOf<float>({value, value, value, value + 1})), "");
      }
    });
    EXPECT_EQ(results[0].error, "");
    EXPECT_THAT(results[0].values, ElementsAre(-10, -10, -10, -10));
  }
}

TEST_F(HostTransferTest, TransfersOfOneChannelKeepTheProgramsOrder) {
  Host host(this);
  const auto results = Run(
      Main(absl::StrCat("%y = stablehlo.add %x, %x : tensor<4xf32>\n",
                        Send("%t1", 1, "%x, %t", "tensor<4xf32>"), Send("%t2", 1, "%y, %t", "tensor<4xf32>"),
                        Send("%t3", 1, "%x, %t", "tensor<4xf32>"), "return %y : tensor<4xf32>\n")),
      {&host}, {1}, {});
  EXPECT_EQ(results[0].error, "");
  std::vector<float> firsts;
  for (const Sent& sent : host.sent()) firsts.push_back(Floats(sent.bytes)[0]);
  EXPECT_THAT(firsts, ElementsAre(1, 2, 1));
}

std::string Swap() {
  return Main(absl::StrCat(Send("%t1", 1, "%x, %t", "tensor<4xf32>"),
                           Recv("%y, %t2", 2, "%t1", "tensor<4xf32>"), "return %y : tensor<4xf32>\n"));
}

// Every device waits for what only the last one's callback gives: none may hold a thread that another needs.
TEST_F(HostTransferTest, DevicesWaitForEachOther) {
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<Host*> pointers;
  Collected collected;
  for (int d = 0; d < kDevices; ++d) {
    pointers.push_back(hosts.emplace_back(std::make_unique<Host>(this)).get());
    hosts[d]->on_recv = [&, d](int64_t, Stream stream) { collected.Add(d, std::move(stream)); };
  }
  const auto results = Run(Swap(), pointers, {1}, {2}, [&] {
    auto streams = collected.Await(kDevices);
    ASSERT_EQ(streams.size(), kDevices);
    for (auto& [device, stream] : streams)
      EXPECT_EQ(stream.Add(hosts[(device + 1) % kDevices]->sent()[0].bytes), "");
  });
  for (int d = 0; d < kDevices; ++d) {
    EXPECT_EQ(results[d].error, "");
    const float first = static_cast<float>(10 * ((d + 1) % kDevices));
    EXPECT_THAT(results[d].values, ElementsAre(first + 1, first + 2, first + 3, first + 4));
  }
}

TEST_F(HostTransferTest, ACallbacksErrorIsTheRunsAndNoDeviceWaitsOn) {
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<Host*> pointers;
  Collected collected;
  for (int d = 0; d < kDevices; ++d) {
    pointers.push_back(hosts.emplace_back(std::make_unique<Host>(this)).get());
    hosts[d]->on_recv = [&](int64_t channel, Stream stream) { collected.Add(channel, std::move(stream)); };
  }
  std::vector<std::pair<int64_t, Stream>> streams;
  hosts[1]->on_send = [&](const Sent&) {
    streams = collected.Await(kDevices - 1);
    return "the disk is full";
  };
  const auto results = Run(Swap(), pointers, {1}, {2});
  for (const Result& result : results)
    EXPECT_THAT(result.error, AllOf(HasSubstr("the disk is full"), HasSubstr("channel 1, send of f32[4]")));
  ASSERT_EQ(streams.size(), kDevices - 1);
  EXPECT_THAT(streams[0].second.Add(std::string(16, 0)), HasSubstr("the disk is full"));
}

TEST_F(HostTransferTest, AStreamThatIsDestroyedEarlyIsAnError) {
  Host host(this);
  host.on_recv = [&](int64_t, Stream stream) { EXPECT_EQ(stream.Add("12345"), ""); };
  EXPECT_THAT(Run(Swap(), {&host}, {1}, {2})[0].error,
              AllOf(HasSubstr("channel 2, recv of f32[4]"), HasSubstr("destroyed after 5 of 16 bytes")));
}

TEST_F(HostTransferTest, AChannelWithoutACallbackIsToldBeforeAnythingRuns) {
  Host host(this);
  EXPECT_THAT(Run(Swap(), {&host}, {1}, {})[0].error,
              AllOf(HasSubstr("channel 2, recv of f32[4]"), HasSubstr("no recv callback for device 0 of 1")));
  EXPECT_THAT(Run(Swap(), {&host}, {2}, {2})[0].error, HasSubstr("channel 1, send of f32[4]"));
  EXPECT_EQ(host.sent().size(), 0);
}

TEST_F(HostTransferTest, EveryElementTypeAndNoElements) {
  const std::vector<std::pair<std::string, size_t>> types = {
      {"i1", 1},         {"i2", 1},       {"i4", 1},           {"i8", 1},
      {"i16", 2},        {"i32", 4},      {"i64", 8},          {"ui2", 1},
      {"ui4", 1},        {"ui8", 1},      {"ui16", 2},         {"ui32", 4},
      {"ui64", 8},       {"f8E5M2", 1},   {"f8E4M3FN", 1},     {"f8E4M3B11FNUZ", 1},
      {"f8E8M0FNU", 1},  {"f8E4M3", 1},   {"f8E3M4", 1},       {"f8E4M3FNUZ", 1},
      {"f8E5M2FNUZ", 1}, {"f4E2M1FN", 1}, {"f16", 2},          {"bf16", 2},
      {"f32", 4},        {"f64", 8},      {"complex<f32>", 8}, {"complex<f64>", 16}};
  for (const char* dims : {"", "3x5x", "0x3x"}) {
    const size_t count = *dims == 0 ? 1 : *dims == '0' ? 0 : 15;
    std::string program;
    std::string token = "%t";
    std::vector<int64_t> channels;
    for (const auto& [type, width] : types) {
      const auto id = static_cast<int64_t>(channels.size());
      const std::string tensor = absl::StrCat("tensor<", dims, type, ">");
      // What comes goes back.
      absl::StrAppend(&program, Recv(absl::StrCat("%a", id, ", %r", id), id, token, tensor));
      absl::StrAppend(&program, Send(absl::StrCat("%s", id), id, absl::StrCat("%a", id, ", %r", id), tensor));
      token = absl::StrCat("%s", id);
      channels.push_back(id);
    }
    Host host(this);
    const auto bytes = [&](int64_t channel) {
      std::string all(count * types[channel].second, 0);
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i % 2 == 0 ? 1 : 0);
      return all;
    };
    host.on_recv = [&](int64_t channel, Stream stream) {
      EXPECT_EQ(stream.total(), bytes(channel).size()) << types[channel].first;
      EXPECT_EQ(stream.Add(bytes(channel)), "");
    };
    const auto results = Run(Main(program + "return %x : tensor<4xf32>\n"), {&host}, channels, channels);
    EXPECT_EQ(results[0].error, "");
    const std::vector<Sent> sent = host.sent();
    ASSERT_EQ(sent.size(), types.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(sent[i].bytes, bytes(sent[i].channel)) << dims << types[i].first;
      EXPECT_TRUE(sent[i].done);
    }
  }
}

// XLA's own four instructions, two arrays sent as a tuple.
TEST_F(HostTransferTest, AnHloModuleOfXlasBuilder) {
  wire::HloModuleProto module;
  module.set_name("exchange");
  module.set_entry_computation_id(1);
  wire::HloComputationProto& entry = *module.add_computations();
  entry.set_name("main");
  entry.set_id(1);
  wire::ShapeProto array, number, token;
  array.set_element_type(11);  // f32
  array.add_dimensions(4);
  number.set_element_type(8);  // u32
  token.set_element_type(17);
  const auto tuple = [](const std::vector<wire::ShapeProto>& elements) {
    wire::ShapeProto shape;
    shape.set_element_type(13);
    for (const wire::ShapeProto& element : elements) *shape.add_tuple_shapes() = element;
    return shape;
  };
  const auto add = [&](const std::string& opcode, const wire::ShapeProto& shape,
                       std::vector<int64_t> operands, int64_t channel = 0) -> wire::HloInstructionProto& {
    wire::HloInstructionProto& one = *entry.add_instructions();
    one.set_id(entry.instructions_size());
    one.set_name(absl::StrCat(opcode, one.id()));
    one.set_opcode(opcode);
    *one.mutable_shape() = shape;
    for (int64_t operand : operands) one.add_operand_ids(operand);
    one.set_channel_id(channel);
    one.set_is_host_transfer(channel != 0);
    entry.set_root_id(one.id());
    return one;
  };
  add("parameter", array, {});
  add("after-all", token, {});
  add("tuple", tuple({array, array}), {1, 1});
  add("send", tuple({tuple({array, array}), number, token}), {3, 2}, 1);
  add("send-done", token, {4}, 1);
  add("recv", tuple({array, number, token}), {5}, 2);
  add("recv-done", tuple({array, token}), {6}, 2);
  add("get-tuple-element", array, {7});
  format_ = "hlo";
  Host host(this);
  host.on_recv = [&](int64_t, Stream stream) { EXPECT_EQ(stream.Add(BytesOf<float>({5, 6, 7, 8})), ""); };
  const auto results = Run(module.SerializeAsString(), {&host}, {1}, {2});
  EXPECT_EQ(results[0].error, "");
  EXPECT_THAT(results[0].values, ElementsAre(5, 6, 7, 8));
  ASSERT_EQ(host.sent().size(), 2);
  EXPECT_THAT(Floats(host.sent()[1].bytes), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(host.sent()[1].total, 32);
}

// The specification's example: who is no target has zeros.
TEST_F(HostTransferTest, BetweenDevicesTheyArePermutations) {
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<Host*> pointers;
  for (int d = 0; d < kDevices; ++d)
    pointers.push_back(hosts.emplace_back(std::make_unique<Host>(this)).get());
  const std::string attributes =
      "{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, "
      "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}";
  const std::string program = Main(absl::StrCat(
      "%s = \"stablehlo.send\"(%x, %t) ", attributes,
      " : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token\n", "%y, %r = \"stablehlo.recv\"(%s) ",
      attributes, " : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)\n",
      "return %y : tensor<4xf32>\n"));
  const auto results = Run(program, pointers, {}, {});
  for (int d = 0; d < kDevices; ++d) {
    EXPECT_EQ(results[d].error, "");
    const float first = static_cast<float>(10 * (d - 1));
    if (d == 0) {
      EXPECT_THAT(results[d].values, ElementsAre(0, 0, 0, 0));
    } else {
      EXPECT_THAT(results[d].values, ElementsAre(first + 1, first + 2, first + 3, first + 4));
    }
  }
  PJRT_LoadedExecutable* executable;
  const std::string lone = Main(absl::StrCat("%y, %r = \"stablehlo.recv\"(%t) ", attributes,
                                             " : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)\n",
                                             "return %y : tensor<4xf32>\n"));
  wire::CompileOptions options;
  options.mutable_executable_build_options()->set_num_partitions(kDevices);
  EXPECT_THAT(TryCompile(lone, options, &executable), HasSubstr("no send with its channel"));
}

// Another run begins where one's transfers wait, once that one is over.
TEST_F(HostTransferTest, RunsFollowOneAnother) {
  PJRT_LoadedExecutable* executable = Compile(Swap(), {0});
  for (int run = 0; run < 20; ++run) {
    Host host(this);
    host.on_recv = [&](int64_t, Stream stream) { EXPECT_EQ(stream.Add(host.sent()[0].bytes), ""); };
    const auto results = Execute(executable, {&host}, {1}, {2}, [] {});
    EXPECT_EQ(results[0].error, "");
    EXPECT_THAT(results[0].values, ElementsAre(1, 2, 3, 4));
  }
  Destroy(executable);
}

}  // namespace
}  // namespace shoal
