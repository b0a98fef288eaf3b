// FfiCall: a custom call served by an XLA FFI handler.
//
// Made once a call site (stage instantiate, at compile time); every run builds a call frame over the run's
// buffers and goes through the stages prepare, initialize and execute. A handler that gives a future is
// waited for without a thread. No exception of a handler gets past this.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/custom_call.h"
#include "plugin/ffi/attributes.h"
#include "plugin/ffi/execution.h"
#include "plugin/ffi/handlers.h"

namespace shoal {

class FfiCall : public CustomCall {
 public:
  // The error is the instantiate stage's, or tells which attribute cannot be passed.
  static absl::StatusOr<std::unique_ptr<CustomCall>> Create(const FfiHandler& handler,
                                                            const CustomCallSite& site);

  Future Start(const RunContext& context, absl::Span<const void* const> operands,
               absl::Span<void* const> results) const override;
  bool MayWait() const override { return handler_.may_wait; }
  double cost_ns() const override;

 private:
  class Frame;

  FfiCall(const FfiHandler& handler, const CustomCallSite& site, FfiAttributes attributes)
      : handler_(handler), site_(site), attributes_(std::move(attributes)) {}
  absl::Status Instantiate();
  Future Run(std::shared_ptr<Frame> frame) const;
  Future RunWaiting(std::shared_ptr<Frame> frame) const;
  absl::Status Named(const absl::Status& status) const;

  const FfiHandler handler_;
  const CustomCallSite site_;
  const FfiAttributes attributes_;
  mutable FfiState state_;  // set by Instantiate, only read later
};

}  // namespace shoal
