// The port through which a running program communicates. core owns it; collectives/communicator implements
// it; plugin wires the two together. Nothing here knows of processes, transports or algorithms.
//
// A Communicator belongs to one device assignment (which global device plays which partition) and lives as
// long as the executables that use it. Every local participant of a collective calls Start once; no call
// blocks (but see CollectiveCall::idle); the returned future is set when this participant's output is whole
// and its input may be reused (but see CollectiveCall::keeper). All participants must start the same
// collectives for a run, in any order. Thread-safe.
//
// Failures: ranks that disagree about a collective (fingerprint, shape, group), participants that wait for
// each other in different collectives of a run, or for one that has ended the run without theirs, a dead or
// missing peer and an abort all give every survivor's future an error that names process, operation, shape
// and how long.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/ids.h"
#include "core/tasks/future.h"
#include "core/types/element_type.h"

namespace shoal {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kRaggedAllToAll,
  kCollectivePermute,
  kCollectiveBroadcast,
};
// kAnd and kOr are bitwise, so for pred logical. min and max hand on NaN.
enum class ReductionKind : uint8_t { kSum, kProduct, kMin, kMax, kAnd, kOr, kXor };

// How the part that belongs to one rank lies in an array of n ranks' parts: row-major [outer, n, block]. A
// whole array that belongs to one rank is outer = 1.
struct Blocks {
  int64_t outer = 1;
  int64_t block_elements = 0;
  friend bool operator==(const Blocks&, const Blocks&) = default;
};

// One array that a collective moves. Counts are elements of one participant.
//   all-reduce, broadcast, permute: `elements` in and out.
//   all-gather:      in `elements`, out n*elements laid out as `out` says.
//   reduce-scatter:  in n*elements laid out as `in` says, out `elements`.
//   all-to-all:      n parts of elements/n, each keeping the order of its elements; part k of the input
//                    lies as `in` says and goes to rank k; the part from rank k lies in the output as `out`
//                    says.
//   ragged all-to-all: six inputs and one output (core/hlo/ragged_all_to_all.h). `in` of the first two says
//                    how many rows there are (outer) and how long they are (block_elements).
struct CollectiveArray {
  ElementType type;
  int64_t elements = 0;
  Blocks in, out;
  friend bool operator==(const CollectiveArray&, const CollectiveArray&) = default;
};

// A collective instruction, fixed at compile time and shared by all its executions.
struct CollectiveOp {
  CollectiveKind kind;
  ReductionKind reduction = ReductionKind::kSum;  // of all-reduce and reduce-scatter
  std::vector<CollectiveArray> arrays;            // several after combining; moved together
  std::vector<std::vector<PartitionId>> groups;   // disjoint; who is in none gets zeros of a broadcast
  // Of permute: source, target; no source gives zeros.
  std::vector<std::pair<PartitionId, PartitionId>> pairs;
  int64_t number = 0;  // position among the collectives of its program
  // Of the partitioned program: differs where processes compiled something else.
  uint64_t program_fingerprint = 0;
  std::string name;  // "all-reduce.3 f32[4,8]", for messages
};

// What one participant's run knows of the order of its collectives. Asked only while a collective of the run
// is under way, from any thread; calls nothing back.
class CollectiveOrder {
 public:
  virtual ~CollectiveOrder() = default;
  // The run is in collective `at`: whether it is certain that it belongs to group `group` of collective
  // `number`, has not come to execution `instance` of that, and will not before `at` has ended.
  virtual bool Precludes(int64_t at, int64_t number, int64_t instance, int64_t group) const = 0;
};

// One participant's call.
struct CollectiveCall {
  RunId run;
  int64_t instance = 0;  // how often this op ran before in this run (loops)
  PartitionId self;
  // One pointer an array of the op. The pointers are read by Start; the memory is valid until the future is
  // set.
  absl::Span<const void* const> inputs;
  // The same; one in all of a ragged all-to-all.
  absl::Span<void* const> outputs;  // may equal the input for all-reduce, permute and broadcast
  // The caller has nothing else to do: Start may make progress on its thread, for a fraction of a
  // millisecond while nothing comes, so that a prompt collective has ended when it returns.
  bool idle = false;
  // Keeps the memory. If it is given, the future may be set as soon as the output is whole: other
  // participants read input and output on until this has been let go, and nobody may write to them before
  // that.
  std::shared_ptr<const void> keeper = nullptr;
  // Valid until the future is set; null: nothing is known.
  const CollectiveOrder* order = nullptr;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  // `op` outlives the returned future.
  virtual Future Start(const CollectiveOp& op, const CollectiveCall& call) = 0;
  // The caller's thread has asked for `run`: its participants will come, sooner or later. Before the first
  // Start of the run.
  virtual void Expect(RunId run) = 0;
  // A participant has come to the end of `run`, perhaps without some of the program's collectives.
  virtual void Ended(RunId run, PartitionId partition) = 0;
  // Fails what is under way and what is still started for `run`, here and (as far as they can be told) on the
  // peers.
  virtual void Abort(RunId run, const absl::Status& why) = 0;
  // OK, or why no collective can work any more (a peer died).
  virtual absl::Status Health() const = 0;
};

}  // namespace shoal
