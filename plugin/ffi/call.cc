#include "plugin/ffi/call.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/tasks/waiting_threads.h"
#include "plugin/ffi/api.h"
#include "plugin/ffi/error.h"

namespace shoal {

// The frame of one call, with the states of its stages.
class FfiCall::Frame {
 public:
  // At instantiation there are no buffers.
  Frame(const FfiCall& call, const RunContext* run, absl::Span<const void* const> operands,
        absl::Span<void* const> results) {
    context_.run = run;
    context_.states = {&call.state_, nullptr, nullptr, nullptr};
    for (size_t i = 0; i < operands.size(); ++i) {
      AddBuffer(call.site_.operands[i], const_cast<void*>(operands[i]));
    }
    for (size_t i = 0; i < results.size(); ++i) AddBuffer(call.site_.results[i], results[i]);
    for (XLA_FFI_Buffer& buffer : buffers_) pointers_.push_back(&buffer);
    argument_types_.assign(operands.size(), XLA_FFI_ArgType_BUFFER);
    result_types_.assign(results.size(), XLA_FFI_RetType_BUFFER);
    frame_.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame_.api = FfiApi();
    frame_.ctx = &context_;
    frame_.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(operands.size()),
                   argument_types_.data(), pointers_.data()};
    frame_.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(results.size()),
                   result_types_.data(), pointers_.data() + operands.size()};
    frame_.attrs = call.attributes_.attrs();
  }

  // Runs `handler` (null: OK at once) as `stage`. The future is ready unless the handler goes on by itself.
  Future Run(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage) {
    if (handler == nullptr) return Future();
    if (stage != XLA_FFI_ExecutionStage_INSTANTIATE && stage != XLA_FFI_ExecutionStage_EXECUTE) {
      context_.states[stage] = &states_[stage];
    }
    frame_.stage = stage;
    frame_.future = nullptr;
    absl::Status status;
    try {
      status = TakeFfiError(handler(&frame_));
    } catch (const std::exception& e) {
      status = absl::InternalError(absl::StrCat("the handler threw \"", e.what(), "\""));
    } catch (...) {
      status = absl::InternalError("the handler threw something that is no std::exception");
    }
    XLA_FFI_Future* future = frame_.future;
    if (future == nullptr) return status;
    Future later = future->promise.future();
    future->Release();
    return status.ok() ? later : Future(status);
  }

 private:
  void AddBuffer(const Shape& shape, void* data) {
    buffers_.push_back({XLA_FFI_Buffer_STRUCT_SIZE, nullptr,
                        static_cast<XLA_FFI_DataType>(XlaNumber(shape.element_type())), data, shape.rank(),
                        const_cast<int64_t*>(shape.dims().data())});
  }

  std::vector<XLA_FFI_Buffer> buffers_;  // operands, then results
  std::vector<void*> pointers_;
  std::vector<XLA_FFI_ArgType> argument_types_;
  std::vector<XLA_FFI_RetType> result_types_;
  std::array<FfiState, kFfiStages> states_;  // of this call's own stages
  XLA_FFI_ExecutionContext context_;
  XLA_FFI_CallFrame frame_ = {};
};

absl::StatusOr<std::unique_ptr<CustomCall>> FfiCall::Create(const FfiHandler& handler,
                                                            const CustomCallSite& site) {
  SHOAL_ASSIGN_OR_RETURN(FfiAttributes attributes, FfiAttributes::Parse(site.backend_config));
  std::unique_ptr<FfiCall> call(new FfiCall(handler, site, std::move(attributes)));
  SHOAL_RETURN_IF_ERROR(call->Instantiate());
  return call;
}

absl::Status FfiCall::Instantiate() {
  Frame frame(*this, nullptr, {}, {});
  return Named(frame.Run(handler_.bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE).Await());
}

Future FfiCall::Start(const RunContext& context, absl::Span<const void* const> operands,
                      absl::Span<void* const> results) const {
  auto frame = std::make_shared<Frame>(*this, &context, operands, results);
  if (!handler_.may_wait) return Run(std::move(frame));
  if (WaitHere::Take()) return RunWaiting(std::move(frame));
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  WaitingThreads::Get().Submit([this, promise, frame = std::move(frame)]() mutable {
    // The frame goes before the promise is set: then nothing of this call is left.
    const Future end = RunWaiting(std::move(frame));
    const WaitHere offer;  // to the rest of the program
    end.Then([promise](const absl::Status& status) { promise->Set(status); });
  });
  return done;
}

Future FfiCall::RunWaiting(std::shared_ptr<Frame> frame) const {
  const WaitingWork work;
  return Run(std::move(frame));
}

double FfiCall::cost_ns() const {
  if (handler_.may_wait || !absl::StartsWith(site_.target, "lapack_")) return CustomCall::cost_ns();
  // A call of LAPACK is half a microsecond, and a flop or two a nanosecond. What is small runs where it is
  // asked for: a Cholesky factor of 3 x 3 takes 6 us (jaxlib 8), where on a busy machine the change of
  // threads took 5 ms.
  double sum = 0;
  for (const Shape& shape : site_.operands) {
    if (shape.IsToken() || shape.rank() < 2) continue;
    const double rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
    const double matrices = rows * columns == 0 ? 0 : shape.ElementCount() / (rows * columns);
    sum += matrices * (500 + rows * columns * std::min(rows, columns));
  }
  return sum;
}

Future FfiCall::Run(std::shared_ptr<Frame> frame) const {
  const XLA_FFI_Handler_Bundle& bundle = handler_.bundle;
  for (const auto& [handler, stage] : {std::pair(bundle.prepare, XLA_FFI_ExecutionStage_PREPARE),
                                       std::pair(bundle.initialize, XLA_FFI_ExecutionStage_INITIALIZE)}) {
    const Future future = frame->Run(handler, stage);
    // These stages have no asynchronous form in XLA's headers.
    if (!future.IsReady()) return Named(absl::UnimplementedError("a future from the stage before execute"));
    if (!future.status().ok()) return Named(future.status());
  }
  Future future = frame->Run(bundle.execute, XLA_FFI_ExecutionStage_EXECUTE);
  if (future.IsReady()) return future.status().ok() ? Future() : Future(Named(future.status()));
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  future.Then([this, promise, frame](const absl::Status& status) { promise->Set(Named(status)); });
  return done;
}

absl::Status FfiCall::Named(const absl::Status& status) const {
  return Annotate(status, absl::StrCat("custom call '", site_.target, "'",
                                       site_.op_name.empty() ? "" : absl::StrCat(" (", site_.op_name, ")")));
}

}  // namespace shoal
