#include "plugin/client/client.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugin/client/strided_copy.h"
#include "plugin/client/transfer_manager.h"
#include "tests/plugin/client/fake_job.h"
#include "tests/plugin/client/test_program.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLimit = int64_t{256} << 20;
const Shape kF32x3 = Shape::Array(ElementType::kF32, {3});

class ClientTest : public ::testing::Test {
 protected:
  void Make(int process = 0, int processes = 1, int devices_each = 2) {
    client_ = PjRtClient::Create(
        nullptr, nullptr, std::make_unique<FakeJob>(process, processes, devices_each), nullptr, kLimit);
  }
  void SetUp() override { Make(); }

  PjRtMemorySpace* Space(int device = 0) {
    return client_->addressable_devices()[device]->default_memory_space();
  }

  std::unique_ptr<PjRtBuffer> Put(std::vector<float> values, int device = 0) {
    Shape shape = Shape::Array(ElementType::kF32, {static_cast<int64_t>(values.size())});
    Future done;
    return client_->BufferFromHostBuffer({.data = values.data(), .shape = shape}, Space(device), &done)
        .value();
  }

  std::unique_ptr<PjRtBuffer> PutAs(HostBufferSemantics semantics, const float* data, const Shape& shape,
                                    Future* done) {
    return client_
        ->BufferFromHostBuffer({.data = data, .shape = shape, .semantics = semantics}, Space(), done)
        .value();
  }

  static absl::StatusOr<std::vector<float>> Get(PjRtBuffer* buffer) {
    std::vector<float> values(buffer->shape().ElementCount());
    absl::Status status = buffer->ToHost(values.data(), RowMajorByteStrides(buffer->shape())).Await();
    if (!status.ok()) return status;
    return values;
  }

  // f(x...) = x + 1, with `donors` as Program has them.
  std::unique_ptr<PjRtLoadedExecutable> AddOne(std::vector<Shape> shapes, std::vector<int> donors = {},
                                               std::vector<DeviceId> assignment = {}) {
    program_ = std::make_shared<AddOneProgram>(std::move(shapes), std::move(donors));
    auto executable = std::make_shared<PjRtExecutable>();
    executable->compiled = CompiledFrom(program_);
    executable->options.num_partitions = std::max<int>(1, assignment.size());
    executable->options.device_assignment = std::move(assignment);
    return client_->Load(std::move(executable)).value();
  }

  static absl::StatusOr<DeviceResults> Run(PjRtLoadedExecutable& executable,
                                           std::vector<PjRtBuffer*> arguments, ExecuteOptions options = {}) {
    absl::Span<PjRtBuffer* const> list = arguments;
    auto results = executable.Execute({list}, options);
    if (!results.ok()) return results.status();
    return std::move((*results)[0]);
  }

  std::unique_ptr<PjRtClient> client_;
  std::shared_ptr<AddOneProgram> program_;
};

TEST_F(ClientTest, DevicesOfAllProcessesAreSeenAndOwnOnesAddressable) {
  Make(/*process=*/1, /*processes=*/3, /*devices_each=*/2);
  EXPECT_EQ(client_->process_index(), 1);
  ASSERT_EQ(client_->devices().size(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(client_->devices()[i]->id(), DeviceId(i));
    EXPECT_EQ(client_->devices()[i]->description().process, ProcessId(i / 2));
    EXPECT_EQ(client_->devices()[i]->IsAddressable(), i / 2 == 1);
  }
  EXPECT_EQ(client_->LookupAddressableDevice(1).value()->id(), DeviceId(3));
  EXPECT_FALSE(client_->LookupAddressableDevice(2).ok());
  EXPECT_FALSE(client_->LookupDevice(6).ok());
  EXPECT_EQ(client_->memory_spaces().size(), 6);
  EXPECT_EQ(client_->memory_spaces()[3]->id(), 9);
}

TEST_F(ClientTest, DefaultAssignmentPrefersOwnDevicesAndAgreesAcrossProcesses) {
  Make(/*process=*/1, /*processes=*/2, /*devices_each=*/2);
  EXPECT_THAT(client_->DefaultDeviceAssignment(1, 2).value(), ElementsAre(DeviceId(2), DeviceId(3)));
  EXPECT_THAT(client_->DefaultDeviceAssignment(1, 4).value(),
              ElementsAre(DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)));
  EXPECT_THAT(std::string(client_->DefaultDeviceAssignment(1, 5).status().message()), HasSubstr("5 devices"));
}

TEST_F(ClientTest, HostArraysGoInAndOut) {
  auto buffer = Put({1, 2, 3});
  EXPECT_EQ(buffer->shape(), kF32x3);
  EXPECT_TRUE(buffer->GetReadyFuture().IsReady());
  EXPECT_THAT(Get(buffer.get()).value(), ElementsAre(1, 2, 3));
  float two[2];
  EXPECT_TRUE(buffer->CopyRawToHost(two, 4, 8).Await().ok());
  EXPECT_THAT(two, ElementsAre(2, 3));
  EXPECT_FALSE(buffer->CopyRawToHost(two, 8, 8).Await().ok());
  EXPECT_FALSE(buffer->CopyRawToHost(two, -1, 4).Await().ok());
}

TEST_F(ClientTest, FortranOrderAndStridesComeOutRowMajor) {
  std::vector<float> fortran = {0, 10, 1, 11, 2, 12};  // [[0,1,2],[10,11,12]]
  std::vector<int64_t> strides = {4, 8};
  Shape shape = Shape::Array(ElementType::kF32, {2, 3});
  Future done;
  auto buffer = client_
                    ->BufferFromHostBuffer({.data = fortran.data(), .shape = shape, .byte_strides = strides},
                                           Space(), &done)
                    .value();
  EXPECT_THAT(Get(buffer.get()).value(), ElementsAre(0, 1, 2, 10, 11, 12));
  std::vector<float> back(6);
  ASSERT_TRUE(buffer->ToHost(back.data(), strides).Await().ok());
  EXPECT_EQ(back, fortran);
}

TEST_F(ClientTest, ABigTransferIsAsynchronousAndTellsWhenItIsDone) {
  std::vector<float> values(3'000'001);
  std::iota(values.begin(), values.end(), 0.f);
  Shape shape = Shape::Array(ElementType::kF32, {3'000'001});
  Future done;
  auto buffer = PutAs(HostBufferSemantics::kImmutableUntilTransferCompletes, values.data(), shape, &done);
  ASSERT_TRUE(done.Await().ok());
  EXPECT_EQ(Get(buffer.get()).value(), values);
}

TEST_F(ClientTest, ZeroCopyShowsTheCallersMemoryUntilTheLastUserEnds) {
  alignas(64) float values[3] = {1, 2, 3};
  Future done;
  auto buffer = PutAs(HostBufferSemantics::kImmutableZeroCopy, values, kF32x3, &done);
  EXPECT_EQ(buffer->UnsafePointer().value(), values);
  auto executable = AddOne({kF32x3});
  program_->Hold();
  auto results = Run(*executable, {buffer.get()}).value();
  buffer.reset();
  EXPECT_FALSE(done.IsReady());
  program_->Release();
  EXPECT_TRUE(results.done.Await().ok());
  results.outputs.clear();
  EXPECT_TRUE(done.AwaitFor(absl::Seconds(10)));
}

TEST_F(ClientTest, ImmutableZeroCopyIsNeverDonated) {
  alignas(64) float values[3] = {1, 2, 3};
  Future done;
  auto buffer = PutAs(HostBufferSemantics::kImmutableZeroCopy, values, kF32x3, &done);
  auto results = Run(*AddOne({kF32x3}, {0}), {buffer.get()}).value();
  EXPECT_THAT(Get(results.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST_F(ClientTest, ASmallProgramEndsWithinTheCall) {
  auto executable = AddOne({kF32x3});
  auto x = Put({1, 2, 3});
  auto results = Run(*executable, {x.get()}).value();
  EXPECT_TRUE(results.done.IsReady());
  EXPECT_THAT(Get(results.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Get(x.get()).value(), ElementsAre(1, 2, 3));
}

TEST_F(ClientTest, WrongArgumentsAreNamedAndNothingRuns) {
  auto executable = AddOne({kF32x3, kF32x3});
  auto x = Put({1, 2, 3});
  auto short_one = Put({1, 2});
  auto elsewhere = Put({1, 2, 3}, 1);
  EXPECT_THAT(std::string(Run(*executable, {x.get()}).status().message()),
              HasSubstr("1 arguments, it takes 2"));
  EXPECT_THAT(std::string(Run(*executable, {x.get(), short_one.get()}).status().message()),
              HasSubstr("argument 1 is f32[2] on cpu:0, the program takes f32[3] on cpu:0"));
  EXPECT_THAT(std::string(Run(*executable, {x.get(), elsewhere.get()}).status().message()),
              HasSubstr("argument 1 is f32[3] on cpu:1"));
  auto deleted = Put({1, 2, 3});
  deleted->Delete();
  absl::Status status = Run(*executable, {x.get(), deleted.get()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("deleted"));
  EXPECT_EQ(client_->addressable_devices()[0]->runs().count(), 0);
  EXPECT_TRUE(Run(*executable, {x.get(), x.get()}).ok());
}

TEST_F(ClientTest, AnEmptyArrayStandsForAToken) {
  auto executable = AddOne({Shape::Token()});
  auto empty = Put({});
  auto full = Put({1});
  EXPECT_TRUE(Run(*executable, {empty.get()}).ok());
  EXPECT_THAT(std::string(Run(*executable, {full.get()}).status().message()), HasSubstr("token[]"));
}

TEST_F(ClientTest, RunsChainThroughBuffersThatAreNotWrittenYet) {
  auto executable = AddOne({kF32x3});
  auto x = Put({1, 2, 3});
  program_->Hold();
  auto first = Run(*executable, {x.get()}).value();
  auto second = Run(*executable, {first.outputs[0].get()}).value();
  x.reset();
  first.outputs[0]->Delete();  // the second run still holds it
  EXPECT_EQ(program_->pending(), 1);
  EXPECT_FALSE(second.outputs[0]->GetReadyFuture().IsReady());
  program_->Release();
  while (program_->pending() == 0) std::this_thread::yield();
  program_->Release();
  EXPECT_THAT(Get(second.outputs[0].get()).value(), ElementsAre(3, 4, 5));
}

TEST_F(ClientTest, AFailedRunPoisonsWhatIsComputedFromIt) {
  auto executable = AddOne({kF32x3});
  auto x = Put({1, 2, 3});
  program_->Hold();
  auto first = Run(*executable, {x.get()}).value();
  auto second = Run(*executable, {first.outputs[0].get()}).value();
  program_->Release(absl::UnavailableError("process 3 died"));
  EXPECT_EQ(second.done.Await().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Get(second.outputs[0].get()).status().message()), HasSubstr("process 3 died"));
  EXPECT_EQ(program_->pending(), 0);
  auto third = Run(*executable, {first.outputs[0].get()}).value();
  EXPECT_EQ(third.outputs[0]->GetReadyFuture().Await().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, DonationHandsTheMemoryOn) {
  auto executable = AddOne({kF32x3}, {0});
  auto x = Put({1, 2, 3});
  void* memory = x->UnsafePointer().value();
  auto results = Run(*executable, {x.get()}).value();
  EXPECT_EQ(results.outputs[0]->UnsafePointer().value(), memory);
  EXPECT_TRUE(x->IsDeleted());
  absl::Status status = Get(x.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("donated"));
  EXPECT_THAT(Get(results.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_FALSE(Run(*executable, {x.get()}).ok());
}

TEST_F(ClientTest, DonationWaitsForEarlierReaders) {
  auto reader = AddOne({kF32x3});
  auto reader_program = program_;
  reader_program->Hold();
  auto writer = AddOne({kF32x3}, {0});
  auto x = Put({1, 2, 3});
  auto read = Run(*reader, {x.get()}).value();
  auto written = Run(*writer, {x.get()}).value();
  EXPECT_FALSE(written.done.IsReady());
  reader_program->Release();
  EXPECT_THAT(Get(read.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Get(written.outputs[0].get()).value(), ElementsAre(2, 3, 4));
}

// The results are there, but other participants read them, and the arguments, a while longer.
TEST_F(ClientTest, WhatOthersReadOnStaysAndIsDonatedLater) {
  auto reader = AddOne({kF32x3});
  auto reader_program = program_;
  reader_program->ReadOn();
  auto writer = AddOne({kF32x3}, {0});
  RunsInFlight& runs = client_->addressable_devices()[0]->runs();
  for (bool donates_result : {true, false}) {
    auto x = Put({1, 2, 3});
    const float* argument = static_cast<const float*>(x->UnsafePointer().value());
    auto read = Run(*reader, {x.get()}).value();
    EXPECT_TRUE(read.done.IsReady());
    EXPECT_EQ(runs.count(), 1);
    auto written = Run(*writer, {donates_result ? read.outputs[0].get() : x.get()}).value();
    EXPECT_FALSE(written.done.IsReady());
    x = nullptr;
    auto other = Put({9, 9, 9});
    EXPECT_EQ(argument[0], 1);
    reader_program->StopReading();
    const float first = donates_result ? 3 : 2;
    EXPECT_THAT(Get(written.outputs[0].get()).value(), ElementsAre(first, first + 1, first + 2));
    runs.AwaitAtMost(0);
  }
}

TEST_F(ClientTest, WhatSomebodyOutsideSeesIsCopiedInsteadOfDonated) {
  auto executable = AddOne({kF32x3}, {0});
  auto x = Put({1, 2, 3});
  ASSERT_TRUE(x->IncreaseExternalReferenceCount().ok());
  float* seen = static_cast<float*>(x->UnsafePointer().value());
  auto results = Run(*executable, {x.get()}).value();
  EXPECT_THAT(Get(results.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_TRUE(x->IsDeleted());
  EXPECT_EQ(seen[0], 1);
  EXPECT_TRUE(x->DecreaseExternalReferenceCount().ok());
  EXPECT_EQ(x->DecreaseExternalReferenceCount().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClientTest, NonDonatableArgumentsStay) {
  auto executable = AddOne({kF32x3}, {0});
  auto x = Put({1, 2, 3});
  std::vector<int64_t> kept = {0};
  auto results = Run(*executable, {x.get()}, {.non_donatable_input_indices = kept}).value();
  EXPECT_THAT(Get(results.outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Get(x.get()).value(), ElementsAre(1, 2, 3));
}

TEST_F(ClientTest, DonatingABufferTwiceInOneCallIsAnError) {
  auto executable = AddOne({kF32x3, kF32x3}, {0, -1});
  auto x = Put({1, 2, 3});
  EXPECT_THAT(std::string(Run(*executable, {x.get(), x.get()}).status().message()), HasSubstr("donated"));
  EXPECT_THAT(Get(x.get()).value(), ElementsAre(1, 2, 3));
}

TEST_F(ClientTest, EveryDeviceRunsItsPart) {
  auto executable = AddOne({kF32x3}, {}, {DeviceId(1), DeviceId(0)});
  ASSERT_EQ(executable->addressable_devices().size(), 2);
  EXPECT_EQ(executable->addressable_devices()[0]->id(), DeviceId(1));
  auto a = Put({1, 2, 3}, 1);
  auto b = Put({4, 5, 6}, 0);
  PjRtBuffer* first[] = {a.get()};
  PjRtBuffer* second[] = {b.get()};
  auto results = executable->Execute({first, second}, {}).value();
  EXPECT_THAT(Get(results[0].outputs[0].get()).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Get(results[1].outputs[0].get()).value(), ElementsAre(5, 6, 7));
  EXPECT_EQ(results[0].outputs[0]->device()->id(), DeviceId(1));
  EXPECT_THAT(std::string(executable->Execute({first}, {}).status().message()),
              HasSubstr("1 devices, it runs on 2"));
}

TEST_F(ClientTest, OutOfMemoryFailsTheCallAndLeavesTheClientUsable) {
  auto big = Shape::Array(ElementType::kF32, {kLimit / 8 + 1});  // two of them pass the limit
  std::vector<float> values(big.ElementCount());
  Future done;
  auto x = client_->BufferFromHostBuffer({.data = values.data(), .shape = big}, Space(), &done).value();
  auto executable = AddOne({big}, {-1});
  absl::Status status = Run(*executable, {x.get()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("jit_add_one result 0"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("host array"));
  auto donating = AddOne({big}, {0});
  EXPECT_TRUE(Run(*donating, {x.get()}).ok());
}

TEST_F(ClientTest, CopiesBetweenDevicesAndBitcasts) {
  auto x = Put({1, 2, 3});
  auto y = x->CopyToMemorySpace(client_->addressable_devices()[1]->memory_spaces()[2]).value();
  EXPECT_EQ(y->memory_space()->kind(), "unpinned_host");
  EXPECT_THAT(Get(y.get()).value(), ElementsAre(1, 2, 3));
  auto bits = x->Bitcast(Shape::Array(ElementType::kS32, {3, 1})).value();
  EXPECT_EQ(bits->UnsafePointer().value(), x->UnsafePointer().value());
  EXPECT_FALSE(x->Bitcast(Shape::Array(ElementType::kS32, {2})).ok());
}

TEST_F(ClientTest, ViewsShowForeignMemoryAndGiveItBack) {
  alignas(64) float values[4] = {1, 2, 3, 4};
  bool returned = false;
  auto view = client_->CreateViewOfDeviceBuffer(values, kF32x3, Space(), [&] { returned = true; }).value();
  EXPECT_THAT(Get(view.get()).value(), ElementsAre(1, 2, 3));
  view.reset();
  EXPECT_TRUE(returned);
  EXPECT_FALSE(client_->CreateViewOfDeviceBuffer(values + 1, kF32x3, Space(), nullptr).ok());
}

TEST_F(ClientTest, ErrorBuffersPoison) {
  auto bad = client_->CreateErrorBuffer(absl::AbortedError("made so"), kF32x3, Space());
  auto results = Run(*AddOne({kF32x3}), {bad.get()}).value();
  EXPECT_EQ(results.done.Await().code(), absl::StatusCode::kAborted);
}

TEST_F(ClientTest, TransferManagerFillsBuffersPieceByPiece) {
  auto manager = AsyncHostToDeviceTransferManager::Create({kF32x3, kF32x3}, Space()).value();
  auto buffer = manager->RetrieveBuffer(0).value();
  EXPECT_FALSE(manager->RetrieveBuffer(0).ok());
  EXPECT_EQ(manager->buffer_size(0).value(), 12);
  float values[] = {1, 2, 3};
  ASSERT_TRUE(manager->TransferData(0, &values[1], 4, 8, false).ok());
  EXPECT_FALSE(buffer->GetReadyFuture().IsReady());
  ASSERT_TRUE(manager->TransferData(0, &values[0], 0, 4, true).ok());
  EXPECT_THAT(Get(buffer.get()).value(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(manager->TransferData(0, values, 4, 12, true).ok());
  EXPECT_FALSE(manager->TransferData(2, values, 0, 4, true).ok());
  auto abandoned = manager->RetrieveBuffer(1).value();
  manager.reset();
  EXPECT_EQ(abandoned->GetReadyFuture().Await().code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, LoadingChecksTheAssignment) {
  auto load = [&](std::vector<DeviceId> assignment, int partitions) {
    auto executable = std::make_shared<PjRtExecutable>();
    executable->compiled =
        CompiledFrom(std::make_shared<AddOneProgram>(std::vector<Shape>{kF32x3}, std::vector<int>{}));
    executable->options.num_partitions = partitions;
    executable->options.device_assignment = std::move(assignment);
    return client_->Load(executable).status();
  };
  EXPECT_TRUE(load({DeviceId(0), DeviceId(1)}, 2).ok());
  EXPECT_FALSE(load({DeviceId(0), DeviceId(0)}, 2).ok());
  EXPECT_FALSE(load({DeviceId(0), DeviceId(7)}, 2).ok());
  EXPECT_FALSE(load({DeviceId(0)}, 2).ok());
}

TEST_F(ClientTest, TopologyRoundTrips) {
  Make(0, 3, 2);
  auto copy = PjRtTopologyDescription::Deserialize(client_->topology().Serialize()).value();
  EXPECT_EQ(copy.devices.size(), 6);
  EXPECT_EQ(copy.devices[5].process, ProcessId(2));
  EXPECT_EQ(copy.Fingerprint(), client_->topology().Fingerprint());
  EXPECT_FALSE(PjRtTopologyDescription::Deserialize("junk").ok());
  EXPECT_FALSE(PjRtTopologyDescription::Deserialize("shoal-topology 1\n2 x\n").ok());
  EXPECT_FALSE(PjRtTopologyDescription::Deserialize("shoal-topology 1\n99999999\n").ok());
}

// Many threads run, copy, donate and drop the same few buffers; every answer is right or a named error.
TEST_F(ClientTest, ManyThreads) {
  auto plain = AddOne({kF32x3});
  auto donating = AddOne({kF32x3}, {0});
  auto work = [&](int seed) {
    for (int i = 0; i < 300; ++i) {
      auto x = Put({1, 2, 3});
      auto y = Run(*plain, {x.get()}).value();
      auto z = Run((i + seed) % 2 ? *plain : *donating, {y.outputs[0].get()}).value();
      ASSERT_THAT(Get(z.outputs[0].get()).value(), ElementsAre(3, 4, 5));
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// The client's own part of a dispatch. Generous, for busy machines and unoptimised builds; the figure is
// printed.
TEST_F(ClientTest, DispatchIsCheap) {
  auto executable = AddOne({Shape::Array(ElementType::kF32, {8})});
  auto x = Put({1, 2, 3, 4, 5, 6, 7, 8});
  PjRtBuffer* arguments[] = {x.get()};
  auto best = std::chrono::nanoseconds::max();
  for (int round = 0; round < 10; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 2000; ++i) {
      auto results = executable->ExecuteOn(client_->devices()[0], arguments, {});
      ASSERT_TRUE(results.ok());
    }
    best = std::min<std::chrono::nanoseconds>(best, (std::chrono::steady_clock::now() - start) / 2000);
  }
  std::cout << "one execution: " << best.count() << " ns\n";
  EXPECT_LT(best, std::chrono::microseconds(10));
}

}  // namespace
}  // namespace shoal
