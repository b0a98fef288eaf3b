// Handlers are written with XLA's own header, xla/ffi/api/ffi.h, as a user writes them: it decodes our
// frames.
#include "xla/ffi/api/ffi.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/memory/allocator.h"
#include "core/runtime/custom_call.h"
#include "core/tasks/arena.h"
#include "gmock/gmock.h"
#include "plugin/ffi/api.h"
#include "plugin/ffi/handlers.h"
#include "plugin/ffi/types.h"

namespace shoal {
namespace {

namespace ffi = xla::ffi;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CustomCallSite SiteOf(std::string target, std::string attributes = "") {
  CustomCallSite site;
  site.target = std::move(target);
  site.backend_config = std::move(attributes);
  site.api_version = 4;
  return site;
}

absl::Status Register(absl::string_view target, XLA_FFI_Handler* handler) {
  return RegisterFfiHandler(target, "Host", {.execute = handler}, 0);
}

// Prepares and runs one call.
absl::Status Call(const CustomCallSite& site, const RunContext& context = {},
                  std::vector<const void*> operands = {}, std::vector<void*> results = {}) {
  absl::StatusOr<std::unique_ptr<CustomCall>> call = CustomCallRegistry::Get().Prepare(site);
  if (!call.ok()) return call.status();
  return (*call)->Start(context, operands, results).Await();
}

XLA_FFI_DEFINE_HANDLER(
    kScaledSum,
    [](double scale, ffi::Buffer<ffi::F32> a, ffi::AnyBuffer b, ffi::ResultBuffer<ffi::F32> sum) {
      if (a.dimensions() != b.dimensions()) return ffi::Error::InvalidArgument("shapes differ");
      for (size_t i = 0; i < a.element_count(); ++i) {
        sum->typed_data()[i] = static_cast<float>(scale) * (a.typed_data()[i] + b.typed_data<float>()[i]);
      }
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind()
        .Attr<double>("scale")
        .Arg<ffi::Buffer<ffi::F32>>()
        .Arg<ffi::AnyBuffer>()
        .Ret<ffi::Buffer<ffi::F32>>());

TEST(FfiTest, BuffersAndErrors) {
  ASSERT_TRUE(Register("scaled_sum", kScaledSum).ok());
  CustomCallSite site = SiteOf("scaled_sum", "{scale = 5.0e-01 : f64}");
  const Shape shape = Shape::Array(ElementType::kF32, {3, 1});
  site.operands = {shape, shape};
  site.results = {shape};
  const std::vector<float> a = {1, 2, 3}, b = {10, 20, 30};
  std::vector<float> sum(3);
  ASSERT_TRUE(Call(site, {}, {a.data(), b.data()}, {sum.data()}).ok());
  EXPECT_THAT(sum, ElementsAre(5.5f, 11, 16.5f));
  site.operands[1] = Shape::Array(ElementType::kF32, {3});
  site.op_name = "jit(f)/here";
  const absl::Status status = Call(site, {}, {a.data(), b.data()}, {sum.data()});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "custom call 'scaled_sum' (jit(f)/here): shapes differ");
  site.operands.pop_back();
  EXPECT_THAT(std::string(Call(site, {}, {a.data()}, {sum.data()}).message()),
              HasSubstr("Wrong number of arguments"));
}

std::string seen;  // by the handler of the test that runs

XLA_FFI_DEFINE_HANDLER(
    kAttributes,
    [](bool flag, int8_t small, uint64_t large, float f, double inf, std::string_view text,
       ffi::Span<const int32_t> ints, ffi::Span<const double> doubles, ffi::Dictionary inner) {
      seen = std::string(text) + (flag ? " true " : " false ") + std::to_string(small) + " " +
             std::to_string(large) + " " + std::to_string(f) + (inf > 1e300 ? " inf" : "");
      for (int32_t i : ints) seen += " " + std::to_string(i);
      for (double d : doubles) seen += " " + std::to_string(d);
      seen += " " + std::to_string(*inner.get<int64_t>("n"));
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind()
        .Attr<bool>("z_flag")
        .Attr<int8_t>("small")
        .Attr<uint64_t>("large")
        .Attr<float>("f")
        .Attr<double>("inf")
        .Attr<std::string_view>("text")
        .Attr<ffi::Span<const int32_t>>("ints")
        .Attr<ffi::Span<const double>>("doubles")
        .Attr<ffi::Dictionary>("inner"));

TEST(FfiTest, AttributesOfEveryKind) {
  ASSERT_TRUE(Register("attributes", kAttributes).ok());
  // In no order: the frame has to be sorted.
  const std::string given =
      "{z_flag = true, text = \"a\\22b\", small = -3 : i8, large = 18446744073709551615 : ui64, "
      "f = 2.5 : f32, inf = 0x7FF0000000000000 : f64, ints = array<i32: 7, -8>, "
      "doubles = dense<1.5> : tensor<2x1xf64>, inner = {n = 4 : i64}}";
  const absl::Status status = Call(SiteOf("attributes", given));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, "a\"b true -3 18446744073709551615 2.500000 inf 7 -8 1.500000 1.500000 4");
  EXPECT_THAT(std::string(Call(SiteOf("attributes", "{x = i32}")).message()), HasSubstr("'x' is i32"));
  EXPECT_EQ(Call(SiteOf("attributes", "\"text\"")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Call(SiteOf("attributes")).message()), HasSubstr("Wrong number of attributes"));
}

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  static int alive;
  Counter() { ++alive; }
  ~Counter() { --alive; }
  int calls = 0;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
int Counter::alive = 0;

XLA_FFI_DEFINE_HANDLER(
    kInstantiate, []() -> ffi::ErrorOr<std::unique_ptr<Counter>> { return std::make_unique<Counter>(); },
    ffi::Ffi::BindInstantiate());
XLA_FFI_DEFINE_HANDLER(
    kCount,
    [](Counter* counter, ffi::ResultBufferR0<ffi::S32> calls) {
      *calls->typed_data() = ++counter->calls;
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::BufferR0<ffi::S32>>());

TEST(FfiTest, StateLivesAsLongAsItsCallSite) {
  ASSERT_EQ(ffi::Ffi::RegisterTypeId(FfiApi(), "Counter", &Counter::id, Counter::info), nullptr);
  ASSERT_GT(Counter::id.type_id, 0);
  ASSERT_TRUE(RegisterFfiHandler("count", "cpu", {.instantiate = kInstantiate, .execute = kCount}, 0).ok());
  CustomCallSite site = SiteOf("count");
  site.results = {Shape::Scalar(ElementType::kS32)};
  int32_t calls = 0;
  {
    auto call = CustomCallRegistry::Get().Prepare(site);
    ASSERT_TRUE(call.ok()) << call.status();
    std::vector<void*> results = {&calls};
    ASSERT_TRUE((*call)->Start({}, {}, results).Await().ok());
    ASSERT_TRUE((*call)->Start({}, {}, results).Await().ok());
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(Counter::alive, 1);
    ASSERT_TRUE(Call(site, {}, {}, {&calls}).ok());
    EXPECT_EQ(calls, 1);
  }
  EXPECT_EQ(Counter::alive, 0);
}

struct Note {
  static ffi::TypeId id;
  std::string text;
};
ffi::TypeId Note::id = {77};

XLA_FFI_DEFINE_HANDLER(
    kContext,
    [](Note* note, int32_t ordinal, ffi::RunId run, ffi::ScratchAllocator scratch, ffi::ThreadPool pool) {
      seen = note->text + " " + std::to_string(ordinal) + " " + std::to_string(run.run_id);
      seen += scratch.Allocate(100, 64).has_value() ? " allocated" : " nothing";
      seen += pool.num_threads() > 0 ? " threads" : "";
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind()
        .Ctx<ffi::UserData<Note>>()
        .Ctx<ffi::DeviceOrdinal>()
        .Ctx<ffi::RunId>()
        .Ctx<ffi::ScratchAllocator>()
        .Ctx<ffi::ThreadPool>());

TEST(FfiTest, ContextOfARun) {
  ASSERT_TRUE(Register("context", kContext).ok());
  Allocator allocator("cpu:0", 1 << 20);
  Note note{"hello"};
  RunContext context;
  context.run = RunId(9);
  context.local_ordinal = 3;
  context.allocator = &allocator;
  EXPECT_THAT(std::string(Call(SiteOf("context"), context).message()), HasSubstr("user data of type 77"));
  context.user_data = std::make_shared<const UserData>(UserData{{5, nullptr}, {77, &note}});
  const absl::Status status = Call(SiteOf("context"), context);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, "hello 3 9 allocated threads");
  EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
}

// Many tasks, and one that waits for all of them.
XLA_FFI_DEFINE_HANDLER(
    kManyTasks,
    [](ffi::ThreadPool pool) {
      constexpr int kTasks = 5000;
      struct Work {
        std::mutex mutex;
        int running = 0;  // guarded by mutex, as is most
        int most = 0;
        std::atomic<int> left{kTasks};
      };
      auto work = std::make_shared<Work>();
      ffi::Promise promise;
      ffi::Future future(promise);
      for (int i = 0; i < kTasks; ++i) {
        pool.Schedule([work] {
          {
            std::lock_guard<std::mutex> lock(work->mutex);
            work->most = std::max(work->most, ++work->running);
          }
          std::this_thread::yield();
          {
            std::lock_guard<std::mutex> lock(work->mutex);
            --work->running;
          }
          --work->left;
        });
      }
      pool.Schedule([work, promise = std::make_shared<ffi::Promise>(std::move(promise))] {
        while (work->left > 0) std::this_thread::yield();
        std::lock_guard<std::mutex> lock(work->mutex);
        seen = std::to_string(work->most);
        promise->SetAvailable();
      });
      return future;
    },
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>());

TEST(FfiTest, FewTasksOfHandlersRunAtOnce) {
  ASSERT_TRUE(Register("many_tasks", kManyTasks).ok());
  const absl::Status status = Call(SiteOf("many_tasks"), {});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_LE(std::stoi(seen), std::max(4, Arena::Get().size()));
}

XLA_FFI_DEFINE_HANDLER(
    kLater,
    [](bool fails) {
      ffi::Promise promise;
      ffi::Future future(promise);
      std::thread([promise = std::move(promise), fails]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (fails) {
          promise.SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "lost"));
        } else {
          promise.SetAvailable();
        }
      }).detach();
      return future;
    },
    ffi::Ffi::Bind().Attr<bool>("fails"));

TEST(FfiTest, FuturesOfHandlers) {
  ASSERT_TRUE(Register("later", kLater).ok());
  EXPECT_TRUE(Call(SiteOf("later", "{fails = false}")).ok());
  const absl::Status status = Call(SiteOf("later", "{fails = true}"));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lost"));
}

XLA_FFI_Error* Throw(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return nullptr;
  throw std::runtime_error("from user code");
}

TEST(FfiTest, ExceptionsDoNotPass) {
  ASSERT_TRUE(Register("throws", Throw).ok());
  EXPECT_THAT(std::string(Call(SiteOf("throws")).message()), HasSubstr("from user code"));
}

TEST(FfiTest, RegistrationsThatAreRefused) {
  ASSERT_TRUE(Register("twice", kLater).ok());
  EXPECT_TRUE(Register("twice", kLater).ok());
  EXPECT_EQ(Register("twice", kScaledSum).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(RegisterFfiHandler("elsewhere", "CUDA", {.execute = kLater}, 0).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterFfiHandler("nothing", "cpu", {}, 0).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(*RegisterFfiType("a type", 123, nullptr), 123);
  EXPECT_EQ(RegisterFfiType("a type", 124, nullptr).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(RegisterFfiType("another", 123, nullptr).status().code(), absl::StatusCode::kAlreadyExists);
}

XLA_FFI_DEFINE_HANDLER(
    kNested,
    [](ffi::ResultBufferR0<ffi::S32> depth) {
      // Waits for another call of the same kind, as a callback that runs a program does.
      if (*depth->typed_data() == 0) return ffi::Error::Success();
      CustomCallSite site = SiteOf("nested");
      site.results = {Shape::Scalar(ElementType::kS32)};
      int32_t less = *depth->typed_data() - 1;
      const absl::Status status = Call(site, {}, {}, {&less});
      return status.ok() ? ffi::Error::Success() : ffi::Error::Internal(std::string(status.message()));
    },
    ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::S32>>());

TEST(FfiTest, HandlersThatWaitForEachOther) {
  ASSERT_TRUE(RegisterFfiHandler("nested", "cpu", {.execute = kNested}, kFfiMayWait).ok());
  CustomCallSite site = SiteOf("nested");
  site.results = {Shape::Scalar(ElementType::kS32)};
  int32_t depth = 50;
  EXPECT_TRUE(Call(site, {}, {}, {&depth}).ok());
}

}  // namespace
}  // namespace shoal
