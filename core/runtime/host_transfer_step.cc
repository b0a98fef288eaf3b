#include "core/runtime/host_transfer_step.h"

#include <utility>

#include "core/base/timeline.h"

namespace shoal {
namespace {

// A thread is woken, and what is sent is copied first, by a thread that does nothing else.
constexpr double kWakeNs = 2000, kCopyNsPerByte = 0.1;

std::vector<SliceUse> UsesOf(bool sends, const std::vector<Slice>& arrays, absl::Span<const SliceUse> order) {
  std::vector<SliceUse> uses(order.begin(), order.end());
  for (const Slice& slice : arrays) uses.push_back({slice, !sends});
  return uses;
}

}  // namespace

HostTransferStep::HostTransferStep(HostChannel channel, std::vector<Slice> arrays,
                                   absl::Span<const SliceUse> order)
    : Step(channel.what, UsesOf(channel.sends, arrays, order)),
      channel_(std::move(channel)),
      arrays_(std::move(arrays)) {}

TimelineRow HostTransferStep::row() const { return TimelineRow::kCalls; }

double HostTransferStep::cost_ns() const {
  double bytes = 0;
  for (const Slice& slice : arrays_) bytes += static_cast<double>(slice.bytes);
  return kWakeNs + (channel_.sends ? kCopyNsPerByte * bytes : 0);
}

Future HostTransferStep::Start(RunState& run) const {
  HostTransfers* const host = run.context().host_transfers.get();
  if (host == nullptr) {
    return absl::InternalError("the program has channels to the host but was started without them: " +
                               name());
  }
  if (channel_.sends) {
    std::vector<absl::Span<const char>> sent;
    for (const Slice& slice : arrays_) sent.emplace_back(run.At(slice), slice.bytes);
    return host->Send(channel_, sent);
  }
  std::vector<absl::Span<char>> filled;
  for (const Slice& slice : arrays_) filled.emplace_back(run.At(slice), slice.bytes);
  return host->Receive(channel_, filled);
}

}  // namespace shoal
