// Schedule: what one process of a group does in a collective, as a value. Built by arithmetic alone, run by
// collectives/engine over any transport, printed by ToString, simulated by the tests without a network.
//
// A schedule is a list of rounds. The steps of a round are independent of one another and go on together; a
// round starts when all steps of the one before have ended on this rank (nobody waits for other ranks'
// rounds). A message is found by (sender, receiver, round, how many earlier ones of this pair the round has):
// so both sides must put it in the same round, and list the messages of a pair in the same order.
//
// Data is named by chunks. The caller gives sizes to the chunks and memory to the buffers later, so one
// schedule serves all sizes. "Rank" here is a position among the processes of a group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace shoal {

// Where chunks lie. A chunk has the same size in every buffer.
enum ScheduleBuffer : int {
  kInputBuffer = 0,    // read only
  kOutputBuffer = 1,   // may be the same memory as the input where Schedule::in_place says so
  kScratchBuffer = 2,  // slots as large as the largest chunk
  kFirstOwnBuffer = 3  // whatever else a caller's own schedules name
};

// Chunks [first, first + count) of a buffer; of the scratch buffer one chunk's worth in slot `slot`.
struct Block {
  int buffer = kInputBuffer;
  int first = 0;
  int count = 1;
  int slot = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

enum class StepKind : uint8_t {
  kSend,     // `block` to `peer`
  kReceive,  // from `peer` into `block`
  kReduce,   // `block` becomes the reduction of `operands`, in their order
};

// One operand of a reduction: the next message of `peer`, or with peer < 0 the block `own`.
struct Operand {
  int peer = -1;
  Block own;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Step {
  StepKind kind;
  int peer = -1;
  Block block;
  std::vector<Operand> operands = {};
  friend bool operator==(const Step&, const Step&) = default;
};

struct Schedule {
  absl::string_view algorithm;
  int chunks = 1;             // that the caller divides the data into
  int scratch_slots = 0;      // of the largest chunk's size
  bool in_place = true;       // right also if the output is the input's memory
  bool reduces_once = false;  // every result is one reduction of what all ranks have put in
  // Every step of every rank moves single chunks, so SliceOf can cut it.
  bool single_chunks = false;
  std::vector<std::vector<Step>> rounds;
};

// For example
//   direct: 3 chunks
//   0: send in[1] to 1; send in[2] to 2; out[0] = in[0] + from 1 + from 2
std::string ToString(const Schedule& schedule);

// The same for one of `slices` parts of every chunk: chunk c becomes chunk c * slices + slice. All slices
// together do what the schedule does, each in its own time. REQUIRES: single_chunks.
Schedule SliceOf(Schedule schedule, int slice, int slices);

// Whether this rank sends anything that lies in its output.
bool SendsOutput(const Schedule& schedule);

// Element offsets of `chunks` nearly equal chunks of `elements`: chunk c is [result[c], result[c + 1]). Inner
// edges are multiples of `align` where there is enough to divide.
std::vector<int64_t> EvenChunks(int64_t elements, int chunks, int64_t align);

// The one that a schedule is for: a rank of a group.
struct Seat {
  int ranks = 2;  // at least 2
  int rank = 0;
  int root = 0;  // of broadcast only
  std::vector<int> host_of =
      {};  // by rank: which host, counted by first appearance; empty if there is only one
};
using ScheduleBuilder = Schedule (*)(const Seat& seat);

// direct.cc. Chunk r belongs to rank r; all-gather's own chunk lies in input and output from the start.
Schedule LinearAllReduce(const Seat& seat);
Schedule DirectAllReduce(const Seat& seat);
Schedule DirectReduceScatter(const Seat& seat);
Schedule LinearAllGather(const Seat& seat);
// Input chunk j goes to rank j, output chunk j comes from rank j; a rank's own chunk is left to the caller.
Schedule LinearAllToAll(const Seat& seat);
Schedule LinearBroadcast(const Seat& seat);
// ring.cc
Schedule RingAllReduce(const Seat& seat);
Schedule RingReduceScatter(const Seat& seat);
Schedule RingAllGather(const Seat& seat);
// halving_doubling.cc
Schedule HalvingDoublingAllReduce(const Seat& seat);
// bruck.cc
Schedule BruckAllGather(const Seat& seat);
// pairwise.cc
Schedule PairwiseAllToAll(const Seat& seat);
Schedule PairwiseReduceScatter(const Seat& seat);
// tree.cc
Schedule BinomialBroadcast(const Seat& seat);
// hierarchical.cc. Between hosts each byte goes once; inside them everyone speaks with everyone.
Schedule HierarchicalAllReduce(const Seat& seat);
Schedule HierarchicalAllGather(const Seat& seat);
Schedule HierarchicalReduceScatter(const Seat& seat);
Schedule HierarchicalBroadcast(const Seat& seat);

}  // namespace shoal
