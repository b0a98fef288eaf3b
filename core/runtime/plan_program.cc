#include "core/runtime/plan_program.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/timeline.h"
#include "core/runtime/collective_order.h"
#include "core/tasks/arena.h"
#include "core/tasks/waiting_threads.h"

namespace shoal {
namespace {

// Waking a worker takes a few microseconds; what costs less than a few times that runs where it is called.
constexpr double kSmallNs = 10000;
// Temporaries of small programs up to this size lie on the stack.
constexpr int64_t kStackTempBytes = 8192;
// Temporaries up to this size may outlast the run for other participants that read them. The next run has its
// own already.
constexpr int64_t kMostTempKept = 64 << 20;

// One run that outlives Start.
struct Execution {
  std::shared_ptr<const PlanProgram> program;
  RunContext context;
  RunInfo info;
  absl::InlinedVector<char*, 8> bases;
  std::optional<RunState> state;
  void* temp = nullptr;
  bool keeps_temp = false;  // after the end
  Promise promise;

  ~Execution() { FreeTemp(); }
  void FreeTemp() {
    if (temp != nullptr) context.allocator->Free(std::exchange(temp, nullptr));
  }
  void Finish(const absl::Status& status) {
    if (!status.ok()) state->Fail(status);
    if (!keeps_temp) FreeTemp();
    if (!state->failed() && program->may_pass_over_collectives() && context.communicator != nullptr) {
      context.communicator->Ended(context.run, context.partition);
    }
    promise.Set(state->failed() ? state->status() : status);
  }
};

}  // namespace

std::shared_ptr<const PlanProgram> PlanProgram::Create(ProgramParts parts) {
  return std::shared_ptr<const PlanProgram>(new PlanProgram(std::move(parts)));
}

PlanProgram::PlanProgram(ProgramParts parts) : parts_(std::move(parts)) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = (parts_.constants.size() + kAlignment) / kAlignment * kAlignment;
  constants_ = static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
  std::memcpy(constants_, parts_.constants.data(), parts_.constants.size());
  const auto& steps = parts_.plan.steps();
  is_small_ = parts_.plan.cost_ns() <= kSmallNs;
  ends_at_once_ = is_small_ && (steps.empty() || (steps.size() == 1 && !steps[0]->MayEndLater()));
  calls_out_ = parts_.plan.CallsOut();
  may_pass_over_collectives_ = MayPassOverCollectives(parts_.plan);
  LetOthersReadOn();
}

void PlanProgram::LetOthersReadOn() {
  for (size_t i = 0; i < parts_.plan.steps().size(); ++i) {
    Step& step = *parts_.plan.steps()[i];
    const bool uses_temp = absl::c_any_of(
        step.uses(), [](const SliceUse& use) { return use.slice.base == kTempBase && use.slice.bytes > 0; });
    if (!step.IsAsync() || (uses_temp && parts_.temp_bytes > kMostTempKept)) continue;
    if (parts_.plan.IsWrittenAfter(static_cast<int>(i)) || !step.LetReadOn()) continue;
    lets_others_read_on_ = true;
    temp_is_read_on_ = temp_is_read_on_ || uses_temp;
  }
}

PlanProgram::~PlanProgram() { std::free(constants_); }

int64_t PlanProgram::base_count() const {
  return kFirstParameterBase +
         static_cast<int64_t>(parts_.parameter_shapes.size() + parts_.result_shapes.size());
}

// RunContext counts the partitions of all replicas.
RunInfo PlanProgram::InfoOf(const RunContext& context) const {
  const int64_t number = context.partition.value();
  return {static_cast<uint32_t>(number % parts_.num_partitions),
          static_cast<uint32_t>(number / parts_.num_partitions)};
}

void PlanProgram::FillBases(const RunContext& context, RunInfo* info, char* temp, char** bases) const {
  bases[kRunInfoBase] = reinterpret_cast<char*>(info);
  bases[kTempBase] = temp;
  bases[kConstantBase] = constants_;
  char** next = bases + kFirstParameterBase;
  for (void* parameter : context.parameters) *next++ = static_cast<char*>(parameter);
  for (void* result : context.results) *next++ = static_cast<char*>(result);
}

Future PlanProgram::RunInline(const RunContext& context, char* temp) const {
  RunInfo info = InfoOf(context);
  absl::InlinedVector<char*, 32> bases(base_count());
  FillBases(context, &info, temp, bases.data());
  RunState state(context, bases.data(), parts_.plan, 0);
  return parts_.plan.Start(state);
}

Future PlanProgram::Start(RunContext context) const {
  if (context.parameters.size() != parts_.parameter_shapes.size() ||
      context.results.size() != parts_.result_shapes.size()) {
    return absl::InternalError(absl::StrCat(parts_.name, " takes ", parts_.parameter_shapes.size(),
                                            " parameters and ", parts_.result_shapes.size(),
                                            " results but was started with ", context.parameters.size(),
                                            " and ", context.results.size()));
  }
  if (Timeline* const timeline = Timeline::Get()) return Recorded(*timeline, std::move(context));
  return StartNow(std::move(context));
}

Future PlanProgram::Recorded(Timeline& timeline, RunContext context) const {
  TimelineEntry entry = {TimelineRow::kPrograms, context.device.value(), Timeline::Now()};
  entry.run = context.run.value();
  Future future = StartNow(std::move(context));
  future.Then([self = shared_from_this(), entry, &timeline](const absl::Status&) mutable {
    entry.end_ns = Timeline::Now();
    timeline.Add(entry, self->parts_.name);
  });
  return future;
}

Future PlanProgram::StartNow(RunContext context) const {
  if (ends_at_once_ && parts_.temp_bytes <= kStackTempBytes) {
    alignas(64) char temp[kStackTempBytes];
    return RunInline(context, temp);
  }
  auto execution = std::make_shared<Execution>();
  execution->program = shared_from_this();
  execution->context = std::move(context);
  execution->info = InfoOf(execution->context);
  execution->bases.resize(base_count());
  execution->state.emplace(execution->context, execution->bases.data(), parts_.plan, parts_.collective_count);
  Future future = execution->promise.future();
  if (parts_.temp_bytes > 0) {
    absl::StatusOr<void*> temp = execution->context.allocator->Allocate(
        parts_.temp_bytes, absl::StrCat("temporaries of ", parts_.name));
    if (!temp.ok()) {
      execution->Finish(temp.status());
      return future;
    }
    execution->temp = *temp;
  }
  FillBases(execution->context, &execution->info, static_cast<char*>(execution->temp),
            execution->bases.data());
  if (execution->context.keeper != nullptr) {
    execution->keeps_temp = temp_is_read_on_;
    execution->state->SetKeeper(execution);
  }
  auto run = [this, execution] {
    parts_.plan.Start(*execution->state).Then([execution](const absl::Status& status) {
      execution->Finish(status);
    });
  };
  const bool may_wait = WaitHere::Take();
  if (is_small_) {
    run();
  } else if (may_wait && calls_out_) {
    const WaitHere offer;
    run();
  } else if (calls_out_ && !has_collectives()) {
    WaitingThreads::Get().Submit([run = std::move(run)] {
      const WaitHere offer;
      run();
    });
  } else {
    Arena::Get().Submit(std::move(run));
  }
  return future;
}

}  // namespace shoal
