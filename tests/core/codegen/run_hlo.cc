// run_hlo DIR: runs every module DIR/*.hlo on the bytes of its .in file and leaves the results in its .out,
// or what went wrong in its .err. One process for many cases, for the differential tests that Python drives
// (differential.py).
//
// The instructions of the entry computation run one kernel each, in order (mode "single"), or as one fusion
// ("fused", for names that end in .fused.hlo). Every kernel runs split into several calls, out of order, as
// the contract allows.
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/kernel.h"
#include "core/codegen/module_builder.h"
#include "core/hlo/instruction.h"
#include "core/hlo/parser.h"
#include "core/jit/jit.h"

namespace shoal {
namespace {

struct Block {
  std::shared_ptr<char> bytes;
  char* get() const { return bytes.get(); }
};

Block NewBlock(int64_t size) {
  size_t rounded = static_cast<size_t>((size + 127) / 64 * 64);
  auto* raw = static_cast<char*>(std::aligned_alloc(64, rounded));
  std::memset(raw, 0xAB, rounded);  // nothing may rely on zeros
  return {std::shared_ptr<char>(raw, [](char* p) { std::free(p); })};
}

// Of this process, so that a busy machine does not count.
double CpuMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Splits [0, units) unevenly and runs the last part first.
void RunNative(KernelFunction function, char* const* buffers, int64_t units) {
  int64_t cut = units / 3;
  function(buffers, cut, units);
  function(buffers, 0, cut);
  function(buffers, units, units);
}

class Runner {
 public:
  Runner(Jit& jit, const Module& module) : jit_(jit), module_(module) {}

  absl::StatusOr<std::string> Run(absl::string_view input, bool fused, std::string& timing) {
    const Computation& entry = *module_.entry();
    std::map<const Instruction*, std::vector<Block>> values;
    size_t offset = 0;
    for (const Instruction* parameter : entry.parameters()) {
      for (const Shape& leaf : parameter->shape().Leaves()) {
        Block block = NewBlock(leaf.ByteSize());
        std::memcpy(block.get(), input.data() + offset, static_cast<size_t>(leaf.ByteSize()));
        offset += static_cast<size_t>(leaf.ByteSize());
        values[parameter].push_back(block);
      }
    }
    if (fused) {
      SHOAL_RETURN_IF_ERROR(RunFused(entry, values, timing));
    } else {
      for (const Instruction* op : entry.instructions()) SHOAL_RETURN_IF_ERROR(RunOne(*op, values, timing));
    }
    std::string output;
    std::vector<Shape> leaves = entry.root()->shape().Leaves();
    for (size_t i = 0; i < leaves.size(); ++i) {
      output.append(values[entry.root()][i].get(), static_cast<size_t>(leaves[i].ByteSize()));
    }
    return output;
  }

 private:
  using Values = std::map<const Instruction*, std::vector<Block>>;

  absl::Status RunFused(const Computation& entry, Values& values, std::string& timing) {
    std::unique_ptr<Module> copy = module_.Clone();
    Computation* body = copy->entry();
    Computation* outer = copy->AddComputation("outer");
    std::vector<Instruction*> parameters;
    std::vector<Block> operands;
    for (const Instruction* parameter : entry.parameters()) {
      parameters.push_back(outer->AddParameter(parameter->parameter_number(), parameter->shape()));
      for (const Block& block : values[parameter]) operands.push_back(block);
    }
    Computation* called[] = {body};
    Instruction* fusion =
        outer->Add(Opcode::kFusion, entry.root()->shape(), parameters, FusionAttributes{}, called);
    return RunKernel(*fusion, operands, values[entry.root()], timing);
  }

  absl::Status RunOne(const Instruction& op, Values& values, std::string& timing) {
    if (op.opcode() == Opcode::kParameter) return absl::OkStatus();
    if (op.opcode() == Opcode::kConstant) {
      Block block = NewBlock(op.shape().ByteSize());
      std::memcpy(block.get(), op.literal().data(), op.literal().size_bytes());
      values[&op] = {block};
      return absl::OkStatus();
    }
    if (op.opcode() == Opcode::kTuple) {
      for (const Instruction* operand : op.operands()) {
        for (const Block& block : values[operand]) values[&op].push_back(block);
      }
      return absl::OkStatus();
    }
    if (op.opcode() == Opcode::kGetTupleElement) {
      values[&op] = {values[op.operand(0)][static_cast<size_t>(op.tuple_index())]};
      return absl::OkStatus();
    }
    if (op.opcode() == Opcode::kCall) return RunCall(op, values, timing);
    std::vector<Block> operands;
    for (const Instruction* operand : op.operands()) {
      for (const Block& block : values[operand]) operands.push_back(block);
    }
    return RunKernel(op, operands, values[&op], timing);
  }

  absl::Status RunCall(const Instruction& op, Values& values, std::string& timing) {
    Values inner;
    const Computation& callee = *op.called(0);
    for (int64_t i = 0; i < op.operand_count(); ++i) inner[callee.parameter(i)] = values[op.operand(i)];
    for (const Instruction* instruction : callee.instructions()) {
      SHOAL_RETURN_IF_ERROR(RunOne(*instruction, inner, timing));
    }
    values[&op] = inner[callee.root()];
    return absl::OkStatus();
  }

  absl::Status RunKernel(const Instruction& op, std::vector<Block> buffers, std::vector<Block>& results,
                         std::string& timing) {
    double start = CpuMicroseconds();
    ModuleBuilder builder("test");
    SHOAL_ASSIGN_OR_RETURN(Kernel kernel, EmitKernel(op, "kernel", builder));
    SHOAL_ASSIGN_OR_RETURN(std::string object, std::move(builder).Compile(jit_));
    SHOAL_ASSIGN_OR_RETURN(auto code, jit_.Load(std::move(object), RuntimeSymbols()));
    double compiled = CpuMicroseconds();
    for (const Shape& leaf : op.shape().Leaves()) {
      results.push_back(NewBlock(leaf.ByteSize()));
      buffers.push_back(results.back());
    }
    if (kernel.scratch_bytes > 0) buffers.push_back(NewBlock(kernel.scratch_bytes));
    std::vector<char*> table;
    for (const Block& block : buffers) table.push_back(block.get());
    for (const KernelPhase& phase : kernel.phases) {
      if (phase.routine != nullptr) {
        SHOAL_RETURN_IF_ERROR(phase.routine->Run(table.data()));
        continue;
      }
      auto function = reinterpret_cast<KernelFunction>(code->Find(phase.function));
      if (function == nullptr) return absl::InternalError(absl::StrCat("no function ", phase.function));
      RunNative(function, table.data(), phase.units);
    }
    absl::StrAppend(&timing, op.name(), " compile ", compiled - start, " us, run ", CpuMicroseconds() - compiled,
                    " us, estimate ", kernel.cost_ns() / 1000, " us\n");
    return absl::OkStatus();
  }

  Jit& jit_;
  const Module& module_;
};

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteAll(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

absl::Status RunDirectory(const std::string& directory) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create());
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".hlo") cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  for (std::filesystem::path path : cases) {
    bool fused = absl::EndsWith(path.string(), ".fused.hlo");
    std::string input = ReadAll(std::filesystem::path(path).replace_extension(".in"));
    absl::StatusOr<std::string> output;
    std::string timing;
    if (auto module = ParseHloText(ReadAll(path)); module.ok()) {
      output = Runner(*jit, **module).Run(input, fused, timing);
    } else {
      output = module.status();
    }
    WriteAll(std::filesystem::path(path).replace_extension(".time"), timing);
    if (output.ok()) {
      WriteAll(path.replace_extension(".out"), *output);
    } else {
      WriteAll(path.replace_extension(".err"), output.status().ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run_hlo DIR\n";
    return 2;
  }
  absl::Status status = shoal::RunDirectory(argv[1]);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
