// The compiler's front door: program bytes and options in, a Program ready to run out.
//
// compiler.cc lists all stages from bytes to plan on one page and is the only file that knows them all.
// Compile is thread-safe and may take seconds; it keeps nothing of the request. Failures: InvalidArgument for
// bytes or options that are wrong (with where and why), Unimplemented with the operation's name for what is
// not built yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/ids.h"
#include "core/lower/share_code.h"
#include "core/runtime/program.h"
#include "core/types/shape.h"

namespace shoal {

class Module;

// What a caller says of an argument or result: shape and, if not empty, how it is to lie in memory.
struct WantedArray {
  Shape shape;
  std::vector<int64_t> minor_to_major;
};

struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;
  // The device that plays each partition: position replica * num_partitions + partition. Empty: a portable
  // program of one partition, which runs on whatever device it is given.
  std::vector<DeviceId> device_assignment;
  // One a parameter or result, or one for all, or none (false): whether propagation may choose its sharding.
  std::vector<bool> allow_spmd_sharding_propagation_to_parameters;
  std::vector<bool> allow_spmd_sharding_propagation_to_outputs;
  // One a flat argument or result, or none; they come before what the program says of its layouts.
  std::vector<WantedArray> argument_layouts, result_layouts;
};

struct CompileRequest {
  absl::string_view program;  // "mlir": bytecode or text; "hlo": HloModuleProto; "hlo_with_config"
  std::string format;
  CompileOptions options;
  // What save_code of the same program gave, here or elsewhere. Taken if it fits this build and CPU.
  absl::string_view saved_code;
  // The processes of the job that compile the same program with this one.
  CodePeers peers = {};
};

// One flat parameter or result.
struct CompiledArray {
  Shape global;             // of the whole array
  Shape local;              // of one device's part: the Program's shape, unless it has a layout
  std::string op_sharding;  // serialized OpSharding proto; empty if there is one partition
  // How a part lies in memory; empty: row-major. The Program's shape has its dimensions in this order.
  std::vector<int64_t> minor_to_major;
  std::string memory_kind = "device";
};

struct CompileStats {
  double flops = 0;
  double transcendentals = 0;
  double bytes_accessed = 0;
  double compile_seconds = 0;
};

struct CompiledModule {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Module> optimized;  // for as_text(); null if it was not kept
  std::function<std::string()> save_code;   // its native code as bytes; null if that cannot be saved
  std::string name;                         // "jit_step"
  uint64_t fingerprint = 0;
  std::vector<CompiledArray> parameters;
  std::vector<CompiledArray> results;
  CompileStats stats;
};

absl::StatusOr<CompiledModule> Compile(const CompileRequest& request);

}  // namespace shoal
