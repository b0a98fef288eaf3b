#include "core/lower/share_code.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fingerprint.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/lower/kernel_cache.h"
#include "core/lower/saved_code.h"

namespace shoal {
namespace {

// Fewer are compiled (1 to 3 ms each) before a process that started a little later has given its part.
constexpr int64_t kWorthSharing = 12;
// Processes begin to compile together, but not to the millisecond.
constexpr absl::Duration kLeastWait = absl::Milliseconds(20);
// What every store takes as one value.
constexpr size_t kMostBytes = size_t{3} << 20;

std::string KeyOf(uint64_t program, int64_t kernels, const CodePeers& peers, int process) {
  return absl::StrCat("code/", absl::Hex(program), "/", kernels, "/", process, "of", peers.count);
}

// The part of the requests that is this process's to compile.
std::vector<KernelRequest> PartOf(absl::Span<const KernelRequest> requests, const CodePeers& peers) {
  std::vector<KernelRequest> part;
  for (const KernelRequest& request : requests) {
    const uint64_t number = FingerprintOfData(request.key);
    if (number % static_cast<uint64_t>(peers.count) == static_cast<uint64_t>(peers.self))
      part.push_back(request);
  }
  return part;
}

absl::Status TakeFrom(const CodePeers& peers, const std::string& key, absl::Time deadline,
                      KernelCache& cache) {
  const absl::Duration left = deadline - absl::Now();
  SHOAL_ASSIGN_OR_RETURN(const std::string code, left > absl::ZeroDuration() ? peers.store->Get(key, left)
                                                                             : peers.store->TryGet(key));
  return RestoreCode(code, cache);
}

}  // namespace

absl::Status CompileTogether(absl::Span<const KernelRequest> requests, uint64_t program,
                             const CodePeers& peers, KernelCache& cache) {
  if (peers.store == nullptr || peers.count < 2 || cache.CountMissing(requests) < kWorthSharing)
    return absl::OkStatus();
  const auto key_of = [&](int process) {
    return KeyOf(program, static_cast<int64_t>(requests.size()), peers, process);
  };
  const absl::Time start = absl::Now();
  ProgramCode own;
  SHOAL_ASSIGN_OR_RETURN(own.kernels, cache.Kernels(PartOf(requests, peers)));
  const absl::Duration took = absl::Now() - start;
  if (std::string code = SaveCode(own); code.size() <= kMostBytes) {
    // It may be there from another time that the program was compiled.
    peers.store->Set(key_of(peers.self), code).IgnoreError();
  }
  // To wait for longer than compiling takes would be worse than to do it all.
  const absl::Time deadline = absl::Now() + std::max(kLeastWait, took * (peers.count - 1));
  for (int i = 1; i < peers.count; ++i) {
    const int peer = (peers.self + i) % peers.count;
    const absl::Status taken = TakeFrom(peers, key_of(peer), deadline, cache);
    SHOAL_LOG_AT(2) << "kernels under " << key_of(peer) << ": " << taken;
    // Each further question to a store that is gone would take seconds to fail.
    if (absl::IsUnavailable(taken)) break;
  }
  return absl::OkStatus();
}

}  // namespace shoal
