// The port through which a program calls functions that somebody registered: LAPACK, user kernels, host
// callbacks.
//
// core owns the port, plugin fills the registry. A call site is prepared once, when the program is compiled:
// a target that nobody registered is Unimplemented there, by name. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/runtime/program.h"
#include "core/tasks/future.h"
#include "core/types/shape.h"

namespace shoal {

// A custom-call instruction. Operands and results are the leaves in order, tokens among them, with the
// dimensions that the callee knows: their bytes may stand in another order, which the callee has asked for.
struct CustomCallSite {
  std::string target;
  std::string backend_config;
  int64_t api_version = 0;
  bool has_side_effect = false;
  std::vector<Shape> operands, results;
  std::string op_name;  // where the user wrote it, for messages
};

// A prepared call site; serves any number of runs at once.
class CustomCall {
 public:
  virtual ~CustomCall() = default;
  // One pointer a leaf, null for a token; valid until the future is set. Must not wait for another device or
  // the network.
  virtual Future Start(const RunContext& context, absl::Span<const void* const> operands,
                       absl::Span<void* const> results) const = 0;
  // True if what is called may wait. It does so where Start is called if that is offered (WaitHere).
  virtual bool MayWait() const { return false; }
  // Estimated nanoseconds of the caller's time; what is not known says a lot.
  virtual double cost_ns() const { return 1e6; }
};

class CustomCallRegistry {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<CustomCall>>(const CustomCallSite&)>;

  static CustomCallRegistry& Get();
  // A second factory for a target replaces the first.
  void Register(absl::string_view target, Factory factory);
  // Asked for targets that have no factory of their own; returns NotFound for those that it does not know
  // either.
  void RegisterFallback(Factory factory);
  absl::StatusOr<std::unique_ptr<CustomCall>> Prepare(const CustomCallSite& site) const;

 private:
  CustomCallRegistry();
  struct Impl;
  Impl* const impl_;
};

}  // namespace shoal
