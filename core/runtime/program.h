// Program: what compiling makes and executing runs: the plan of one partition, with native code and buffer
// tables.
//
// Immutable and thread-safe; one Program serves all local devices and any number of runs at once. Parameters
// and results are flat lists of arrays with local (per-device) shapes; tuples exist only in HLO. Memory of
// parameters and results belongs to the caller, temporaries come from the run's allocator and are gone when
// its future is set.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/base/ids.h"
#include "core/memory/allocator.h"
#include "core/runtime/communicator.h"
#include "core/runtime/host_transfers.h"
#include "core/tasks/future.h"
#include "core/types/shape.h"

namespace shoal {

// What the caller attaches to one execution, for custom calls that know its types: a type's id, and an object
// that the caller keeps until the run has ended.
using UserData = std::vector<std::pair<int64_t, void*>>;

// One partition's execution. The caller keeps everything that it points to alive until the run's future is
// set.
struct RunContext {
  RunId run;
  PartitionId partition;
  DeviceId device;
  int local_ordinal = 0;                     // of the device, among those of this process
  Allocator* allocator = nullptr;            // for temporaries
  Communicator* communicator = nullptr;      // null only if the program has no collectives
  absl::InlinedVector<void*, 8> parameters;  // read only, but for donated ones
  // Of result_shapes' sizes; for a donating result the parameter's own pointer.
  absl::InlinedVector<void*, 4> results;
  std::shared_ptr<const UserData> user_data;      // null: none
  std::shared_ptr<HostTransfers> host_transfers;  // null only if the program has no channels to the host
  // Keeps parameters and results. If it is given, the run's future does not wait until the other participants
  // have read what they need of them: this is let go when they have.
  std::shared_ptr<const void> keeper;
};

class Program {
 public:
  virtual ~Program() = default;

  virtual absl::Span<const Shape> parameter_shapes() const = 0;
  virtual absl::Span<const Shape> result_shapes() const = 0;
  // For each result the parameter whose memory it takes, or -1. Only parameters donated at compile time
  // occur.
  virtual absl::Span<const int> result_donors() const = 0;
  // Donated parameters whose memory no result takes although one has their size: the caller gives them up
  // when the run has ended.
  virtual absl::Span<const int> released_parameters() const = 0;
  virtual bool has_collectives() const = 0;
  // Each once, though loops go through it often, and only some devices may.
  virtual absl::Span<const HostChannel> host_channels() const { return {}; }
  // True if a run is noticed by more than its results: a host callback that prints. JAX takes it that a
  // device goes through such runs in the order in which they were asked for.
  virtual bool has_effects() const { return false; }
  // True if a run calls what may wait: host callbacks. Where Start's caller may wait (WaitHere), it all
  // happens there, and Start returns when it is over.
  virtual bool calls_out() const { return false; }
  // Whether RunContext::keeper makes a difference.
  virtual bool lets_others_read_on() const { return false; }
  // True if a run is so short (a few microseconds, collectives among them if they are small) that handing it
  // to a worker costs more than running it inline.
  virtual bool is_small() const = 0;
  virtual int64_t temp_bytes() const = 0;
  virtual int64_t code_bytes() const = 0;

  // Starts one partition's run: on the caller's thread if is_small(), else in the arena or, if it calls out,
  // on a thread that may wait; never waits itself, unless that is offered. The inputs must be ready. The
  // future's error is the first failure. After a failure, results hold anything.
  virtual Future Start(RunContext context) const = 0;
};

}  // namespace shoal
