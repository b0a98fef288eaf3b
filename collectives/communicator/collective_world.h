// CollectiveWorld: this process's part in all communication: the transports to every other process, the
// engine with its one progress thread, and a Communicator for each device assignment that a program uses.
//
// Owned by plugin/client, one a client, made after launcher/rendezvous knows the topology; destroyed after
// the last executable. Thread-safe after creation. A single process needs no transport, and of one device no
// thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/ids.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"
#include "core/runtime/communicator.h"

namespace shoal {

class AlgorithmTable;

struct CollectiveOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // SHOAL_TIMEOUT_S
  bool shared_memory = true;                          // SHOAL_SHM
  std::string transport = "auto";                     // SHOAL_TRANSPORT
  bool deterministic = false;                         // SHOAL_DETERMINISTIC
  std::string algorithms;                             // SHOAL_ALGORITHMS, checked
  std::shared_ptr<const AlgorithmTable> table;        // of the file SHOAL_TUNING; may be null
  static absl::StatusOr<CollectiveOptions> FromFlags();
};

class CollectiveWorld {
 public:
  // `store` outlives the world; it is used to connect transports at first use of a peer. Collective over all
  // processes only in the sense that peers must get as far as their own Create.
  static absl::StatusOr<std::unique_ptr<CollectiveWorld>> Create(const Topology& topology,
                                                                 KeyValueStore* store,
                                                                 const CollectiveOptions& options);
  virtual ~CollectiveWorld() = default;

  // `assignment[p]` is the device that plays partition p. The same assignment gives the same communicator.
  virtual absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicator(
      absl::Span<const DeviceId> assignment) = 0;
  // One whose collectives take these algorithms (select.h), whatever the flags say: to measure them.
  virtual absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicatorWith(
      absl::Span<const DeviceId> assignment, absl::string_view algorithms) = 0;
  // launcher/health tells that a process is gone: everything that needs it fails with `why`, now and later.
  virtual void ProcessFailed(ProcessId process, const absl::Status& why) = 0;
  // The program has ended, by the error `why` if that is not empty: peers that wait for more are told.
  // True if a process has died, or has not come in time; then waits at most so long for the others to end.
  virtual bool Leave(absl::string_view why, absl::Duration wait) = 0;
  virtual absl::Status Health() const = 0;
};

}  // namespace shoal
