#include "core/lower/kernel_cache.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "core/codegen/module_builder.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// Fewer kernels are not worth a module of their own.
constexpr int64_t kKernelsOfAModule = 8;
// More modules than workers, so that a slow one does not leave the others idle.
constexpr int64_t kModulesPerWorker = 3;

int64_t ModuleCount(int64_t kernels) {
  return std::clamp<int64_t>(kernels / kKernelsOfAModule, 1, Arena::Get().size() * kModulesPerWorker);
}

constexpr absl::string_view kKernelPrefix = "kernel_", kControlPrefix = "control_";

absl::StatusOr<void*> FindIn(const NativeCode& code, const std::string& function) {
  void* address = code.Find(function);
  if (address == nullptr) return absl::InternalError(absl::StrCat("compiled code lacks ", function));
  return address;
}

// Gives the kernels their code.
absl::Status Attach(const std::shared_ptr<const NativeCode>& code,
                    absl::Span<const std::shared_ptr<LoadedKernel>> kernels) {
  for (const std::shared_ptr<LoadedKernel>& kernel : kernels) {
    for (KernelPhase& phase : kernel->kernel.phases) {
      if (phase.routine != nullptr) continue;
      SHOAL_ASSIGN_OR_RETURN(void* address, FindIn(*code, phase.function));
      phase.address = reinterpret_cast<KernelFunction>(address);
    }
    kernel->code = code;
  }
  return absl::OkStatus();
}
absl::Status Attach(const std::shared_ptr<const NativeCode>& code,
                    absl::Span<const std::shared_ptr<LoadedControl>> controls) {
  for (const std::shared_ptr<LoadedControl>& control : controls) {
    SHOAL_ASSIGN_OR_RETURN(void* address, FindIn(*code, SymbolOf(kControlPrefix, control->key)));
    control->function = reinterpret_cast<SequenceFunction>(address);
    control->code = code;
  }
  return absl::OkStatus();
}

// Some of a list of requests: of one effort.
using Share = std::vector<size_t>;

// Deals the requests out, each kind of effort among modules of its own.
std::vector<Share> DealOut(absl::Span<const KernelRequest* const> requests) {
  std::vector<Share> shares;
  for (const CodeEffort effort : {CodeEffort::kQuick, CodeEffort::kFull}) {
    Share all;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i]->effort == effort) all.push_back(i);
    }
    if (all.empty()) continue;
    const size_t before = shares.size(), modules = ModuleCount(static_cast<int64_t>(all.size()));
    shares.resize(before + modules);
    for (size_t k = 0; k < all.size(); ++k) shares[before + k % modules].push_back(all[k]);
  }
  return shares;
}

// Emits, compiles and loads the requests of `share` as one module.
absl::Status CompileShare(absl::Span<const KernelRequest* const> requests, const Share& share, Jit& jit,
                          absl::Span<std::shared_ptr<LoadedKernel>> loaded) {
  ModuleBuilder builder("kernels");
  std::vector<std::shared_ptr<LoadedKernel>> emitted;
  for (size_t i : share) {
    const KernelRequest& request = *requests[i];
    auto kernel = std::make_shared<LoadedKernel>();
    kernel->key = request.key;
    SHOAL_ASSIGN_OR_RETURN(kernel->kernel,
                           EmitKernel(*request.instruction, SymbolOf(kKernelPrefix, request.key), builder));
    loaded[i] = kernel;
    emitted.push_back(std::move(kernel));
  }
  SHOAL_ASSIGN_OR_RETURN(std::string object, std::move(builder).Compile(jit, requests[share[0]]->effort));
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<const NativeCode> code,
                         jit.Load(std::move(object), RuntimeSymbols()));
  return Attach(code, emitted);
}

absl::StatusOr<std::vector<std::shared_ptr<LoadedKernel>>> CompileKernels(
    absl::Span<const KernelRequest* const> requests, Jit& jit) {
  std::vector<std::shared_ptr<LoadedKernel>> loaded(requests.size());
  const std::vector<Share> shares = DealOut(requests);
  std::vector<absl::Status> statuses(shares.size());
  Arena::Get().ParallelFor(static_cast<int64_t>(shares.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      statuses[s] = CompileShare(requests, shares[s], jit, absl::MakeSpan(loaded));
    }
  });
  for (const absl::Status& status : statuses) SHOAL_RETURN_IF_ERROR(status);
  return loaded;
}

void CollectKernels(const SequenceBlock& steps, absl::flat_hash_set<const Kernel*>& found) {
  for (const SequenceStep& step : steps) {
    if (const auto* call = std::get_if<KernelCall>(&step.step)) {
      found.insert(call->kernel);
    } else if (const auto* loop = std::get_if<WhileLoop>(&step.step)) {
      CollectKernels(loop->condition, found);
      CollectKernels(loop->body, found);
    } else if (const auto* counted = std::get_if<CountedLoop>(&step.step)) {
      CollectKernels(counted->body, found);
    } else if (const auto* branch = std::get_if<Branch>(&step.step)) {
      for (const SequenceBlock& block : branch->branches) CollectKernels(block, found);
    }
  }
}

// What code that calls `kernels` may refer to.
std::vector<RuntimeSymbol> SymbolsOf(absl::Span<const KernelHandle> kernels) {
  std::vector<RuntimeSymbol> symbols(RuntimeSymbols().begin(), RuntimeSymbols().end());
  for (const KernelHandle& kernel : kernels) {
    for (const KernelPhase& phase : kernel->kernel.phases) {
      if (phase.routine == nullptr) {
        symbols.push_back({phase.function, reinterpret_cast<const void*>(phase.address)});
      }
    }
  }
  return symbols;
}

// All as one module: they are little more than calls.
absl::StatusOr<std::vector<std::shared_ptr<LoadedControl>>> CompileControls(
    absl::Span<const ControlRequest* const> requests, absl::Span<const KernelHandle> kernels, Jit& jit) {
  ModuleBuilder builder("control");
  std::vector<std::shared_ptr<LoadedControl>> emitted;
  for (const ControlRequest* request : requests) {
    auto control = std::make_shared<LoadedControl>();
    control->key = request->key;
    SHOAL_RETURN_IF_ERROR(
        EmitSequence(SymbolOf(kControlPrefix, request->key), request->steps, builder, control->routines));
    absl::flat_hash_set<const Kernel*> called;
    CollectKernels(request->steps, called);
    for (const KernelHandle& kernel : kernels) {
      if (called.contains(&kernel->kernel)) control->kernels.push_back(kernel);
    }
    emitted.push_back(std::move(control));
  }
  SHOAL_ASSIGN_OR_RETURN(std::string object, std::move(builder).Compile(jit));
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<const NativeCode> code,
                         jit.Load(std::move(object), SymbolsOf(kernels)));
  SHOAL_RETURN_IF_ERROR(Attach(code, emitted));
  return emitted;
}

void AppendRef(const BufferRef& ref, std::string& key) {
  absl::StrAppend(&key, ref.base, "+", ref.offset, ",");
}

void AppendSteps(const SequenceBlock& steps, std::string& key);

void AppendStep(const KernelCall& call, std::string& key) {
  for (const KernelPhase& phase : call.kernel->phases) {
    // A routine's address is its name as long as code that calls it is kept.
    absl::StrAppend(&key,
                    phase.routine == nullptr
                        ? phase.function
                        : absl::StrCat(absl::Hex(reinterpret_cast<uintptr_t>(phase.routine.get()))),
                    ";");
  }
  for (const BufferRef& ref : call.buffers) AppendRef(ref, key);
}
void AppendStep(const CopyBytes& copy, std::string& key) {
  AppendRef(copy.from, key);
  AppendRef(copy.to, key);
  absl::StrAppend(&key, copy.bytes);
}
void AppendStep(const WhileLoop& loop, std::string& key) {
  AppendSteps(loop.condition, key);
  AppendRef(loop.predicate, key);
  AppendSteps(loop.body, key);
}
void AppendStep(const CountedLoop& loop, std::string& key) {
  absl::StrAppend(&key, loop.trips);
  AppendSteps(loop.body, key);
}
void AppendStep(const Branch& branch, std::string& key) {
  AppendRef(branch.index, key);
  absl::StrAppend(&key, branch.is_pred ? "p" : "i");
  for (const SequenceBlock& block : branch.branches) AppendSteps(block, key);
}

void AppendSteps(const SequenceBlock& steps, std::string& key) {
  key.push_back('{');
  for (const SequenceStep& step : steps) {
    absl::StrAppend(&key, step.step.index(), " ");
    std::visit([&](const auto& s) { AppendStep(s, key); }, step.step);
    key.push_back('\n');
  }
  key.push_back('}');
}

// What `table` has of the requests, and which requests it lacks.
template <typename Request, typename Handle>
std::vector<const Request*> Missing(absl::Span<const Request> requests,
                                    const absl::flat_hash_map<absl::string_view, Handle>& table,
                                    std::vector<Handle>& handles) {
  std::vector<const Request*> missing;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto it = table.find(requests[i].key);
    if (it != table.end()) {
      handles[i] = it->second;
    } else {
      missing.push_back(&requests[i]);
    }
  }
  return missing;
}

// Bytes of the distinct objects that `handles` have.
template <typename Handle>
int64_t CodeBytes(const std::vector<Handle>& handles) {
  absl::flat_hash_set<const NativeCode*> seen;
  int64_t bytes = 0;
  for (const Handle& handle : handles) {
    if (seen.insert(handle->code.get()).second) bytes += static_cast<int64_t>(handle->code->object().size());
  }
  return bytes;
}

}  // namespace

int64_t ProgramCode::bytes() const { return CodeBytes(kernels) + CodeBytes(controls); }

std::string SymbolOf(absl::string_view prefix, absl::string_view key) {
  return absl::StrCat(prefix, absl::Hex(Fingerprint(key), absl::kZeroPad16));
}

std::string ControlKey(const SequenceBlock& steps) {
  std::string key;
  AppendSteps(steps, key);
  return key;
}

absl::StatusOr<std::vector<KernelHandle>> KernelCache::Kernels(absl::Span<const KernelRequest> requests) {
  std::vector<KernelHandle> handles(requests.size());
  std::vector<const KernelRequest*> missing;
  {
    absl::MutexLock lock(&mutex_);
    missing = Missing(requests, kernels_, handles);
  }
  if (missing.empty()) return handles;
  SHOAL_ASSIGN_OR_RETURN(auto made, CompileKernels(missing, *jit_));
  std::vector<KernelHandle> kept = Keep(std::move(made));
  for (size_t i = 0; i < missing.size(); ++i) handles[missing[i] - requests.data()] = std::move(kept[i]);
  absl::MutexLock lock(&mutex_);
  compiled_kernels_ += static_cast<int64_t>(missing.size());
  return handles;
}

absl::StatusOr<std::vector<ControlHandle>> KernelCache::Controls(absl::Span<const ControlRequest> requests,
                                                                 absl::Span<const KernelHandle> kernels) {
  std::vector<ControlHandle> handles(requests.size());
  std::vector<const ControlRequest*> missing;
  {
    absl::MutexLock lock(&mutex_);
    missing = Missing(requests, controls_, handles);
  }
  if (missing.empty()) return handles;
  SHOAL_ASSIGN_OR_RETURN(auto made, CompileControls(missing, kernels, *jit_));
  std::vector<ControlHandle> kept = Keep(std::move(made));
  for (size_t i = 0; i < missing.size(); ++i) handles[missing[i] - requests.data()] = std::move(kept[i]);
  return handles;
}

absl::StatusOr<std::vector<KernelHandle>> KernelCache::InsertKernels(
    std::string object, std::vector<std::shared_ptr<LoadedKernel>> kernels) {
  {
    std::vector<KernelHandle> present;
    absl::MutexLock lock(&mutex_);
    for (const auto& kernel : kernels) {
      const auto it = kernels_.find(kernel->key);
      if (it != kernels_.end()) present.push_back(it->second);
    }
    if (present.size() == kernels.size()) return present;
  }
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<const NativeCode> code,
                         jit_->Load(std::move(object), RuntimeSymbols()));
  SHOAL_RETURN_IF_ERROR(Attach(code, kernels));
  return Keep(std::move(kernels));
}

absl::Status KernelCache::InsertControls(std::string object, absl::Span<const std::string> keys,
                                         absl::Span<const KernelHandle> kernels) {
  {
    absl::MutexLock lock(&mutex_);
    if (std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
          mutex_.AssertHeld();
          return controls_.contains(key);
        })) {
      return absl::OkStatus();
    }
  }
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<const NativeCode> code,
                         jit_->Load(std::move(object), SymbolsOf(kernels)));
  std::vector<std::shared_ptr<LoadedControl>> controls;
  for (const std::string& key : keys) {
    auto& control = controls.emplace_back(std::make_shared<LoadedControl>());
    control->key = key;
    control->kernels.assign(kernels.begin(), kernels.end());
  }
  SHOAL_RETURN_IF_ERROR(Attach(code, controls));
  Keep(std::move(controls));
  return absl::OkStatus();
}

std::vector<KernelHandle> KernelCache::Keep(std::vector<std::shared_ptr<LoadedKernel>> kernels) {
  absl::MutexLock lock(&mutex_);
  MakeRoom(CodeBytes(kernels));
  std::vector<KernelHandle> kept;
  for (auto& kernel : kernels) kept.push_back(kernels_.try_emplace(kernel->key, kernel).first->second);
  return kept;
}

std::vector<ControlHandle> KernelCache::Keep(std::vector<std::shared_ptr<LoadedControl>> controls) {
  absl::MutexLock lock(&mutex_);
  MakeRoom(CodeBytes(controls));
  std::vector<ControlHandle> kept;
  for (auto& control : controls) kept.push_back(controls_.try_emplace(control->key, control).first->second);
  return kept;
}

void KernelCache::MakeRoom(int64_t bytes) {
  code_bytes_ += bytes;
  if (code_bytes_ <= most_code_bytes_) return;
  // Controls first: they hold kernels.
  absl::erase_if(controls_, [](const auto& entry) { return entry.second.use_count() == 1; });
  absl::erase_if(kernels_, [](const auto& entry) { return entry.second.use_count() == 1; });
  code_bytes_ = bytes;
}

int64_t KernelCache::CountMissing(absl::Span<const KernelRequest> requests) const {
  absl::MutexLock lock(&mutex_);
  return std::count_if(requests.begin(), requests.end(), [&](const KernelRequest& request) {
    mutex_.AssertHeld();
    return !kernels_.contains(request.key);
  });
}

int64_t KernelCache::compiled_kernels() const {
  absl::MutexLock lock(&mutex_);
  return compiled_kernels_;
}

}  // namespace shoal
