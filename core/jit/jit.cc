#include "core/jit/jit.h"

#include <atomic>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/jit/ir_module.h"
#include "core/jit/optimize.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace shoal {
namespace {

absl::Status FromLlvm(llvm::Error error, absl::string_view doing) {
  return absl::InternalError(absl::StrCat(doing, ": ", llvm::toString(std::move(error))));
}

struct LinkedCode : NativeCode {
  llvm::orc::ExecutionSession* session = nullptr;
  llvm::orc::JITDylib* dylib = nullptr;
  std::string bytes;
  absl::flat_hash_map<std::string, void*> functions;

  ~LinkedCode() override {
    if (dylib != nullptr) llvm::cantFail(session->removeJITDylib(*dylib));
  }
  void* Find(absl::string_view function) const override {
    auto it = functions.find(function);
    return it == functions.end() ? nullptr : it->second;
  }
  const std::string& object() const override { return bytes; }
};

struct ObjectSymbols {
  std::vector<std::string> defined, undefined;
};

absl::StatusOr<ObjectSymbols> SymbolsOf(const std::string& object) {
  llvm::MemoryBufferRef buffer(object, "object");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) return FromLlvm(file.takeError(), "object code is damaged");
  ObjectSymbols symbols;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) return absl::InternalError("object code is damaged: unreadable symbol");
    if (*flags & llvm::object::BasicSymbolRef::SF_FormatSpecific) continue;
    if (*flags & llvm::object::BasicSymbolRef::SF_Undefined) {
      if (!name->empty()) symbols.undefined.push_back(name->str());
    } else if (*flags & llvm::object::BasicSymbolRef::SF_Global) {
      symbols.defined.push_back(name->str());
    }
  }
  return symbols;
}

}  // namespace

struct Jit::Impl {
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> linker;
  std::atomic<int64_t> loaded{0};

  ~Impl() {
    if (session != nullptr) llvm::cantFail(session->endSession());
    linker.reset();
  }
};

Jit::Jit(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Jit::~Jit() = default;

absl::StatusOr<std::unique_ptr<Jit>> Jit::Create() {
  if (ThreadTargetMachine(CodeEffort::kFull) == nullptr) {
    return absl::InternalError("LLVM was built without a back end for this CPU");
  }
  auto control = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control) return FromLlvm(control.takeError(), "starting the JIT");
  auto impl = std::make_unique<Impl>();
  impl->session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
  // Failures reach the caller of Load as a status; nothing is printed.
  impl->session->setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  impl->linker = std::make_unique<llvm::orc::ObjectLinkingLayer>(*impl->session);
  return std::unique_ptr<Jit>(new Jit(std::move(impl)));
}

absl::StatusOr<std::string> Jit::Compile(std::unique_ptr<IrModule> module, CodeEffort effort) const {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*module->module, &out)) {
    return absl::InternalError(absl::StrCat("generated code is wrong (please report): ", problem));
  }
  Optimize(*module->module, *ThreadTargetMachine(effort));
  return EmitObject(*module->module, effort);
}

absl::StatusOr<std::shared_ptr<const NativeCode>> Jit::Load(std::string object,
                                                            absl::Span<const RuntimeSymbol> symbols) {
  SHOAL_ASSIGN_OR_RETURN(ObjectSymbols names, SymbolsOf(object));
  llvm::orc::ExecutionSession& session = *impl_->session;
  auto code = std::make_shared<LinkedCode>();
  code->session = &session;
  code->bytes = std::move(object);
  code->dylib = &session.createBareJITDylib(absl::StrCat("shoal.", impl_->loaded.fetch_add(1)));

  absl::flat_hash_map<absl::string_view, const void*> table;
  for (const RuntimeSymbol& symbol : symbols) table.emplace(symbol.name, symbol.address);
  llvm::orc::SymbolMap imports;
  for (const std::string& name : names.undefined) {
    auto it = table.find(name);
    if (it == table.end())
      return absl::NotFoundError(absl::StrCat("generated code calls unknown function ", name));
    imports[session.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(it->second),
                                     llvm::JITSymbolFlags::Exported};
  }
  if (!imports.empty()) {
    if (llvm::Error error = code->dylib->define(llvm::orc::absoluteSymbols(std::move(imports)))) {
      return FromLlvm(std::move(error), "linking");
    }
  }
  auto buffer = llvm::MemoryBuffer::getMemBuffer(code->bytes, "object", /*RequiresNullTerminator=*/false);
  if (llvm::Error error = impl_->linker->add(*code->dylib, std::move(buffer))) {
    return FromLlvm(std::move(error), "linking");
  }
  llvm::orc::SymbolLookupSet wanted;
  for (const std::string& name : names.defined) wanted.add(session.intern(name));
  auto found =
      session.lookup({{code->dylib, llvm::orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted));
  if (!found) return FromLlvm(found.takeError(), "linking");
  for (const auto& [name, symbol] : *found) {
    code->functions.emplace((*name).str(), symbol.getAddress().toPtr<void*>());
  }
  return std::shared_ptr<const NativeCode>(std::move(code));
}

}  // namespace shoal
