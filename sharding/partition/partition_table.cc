// Which operations do not go the generic way. One line each.
#include "core/hlo/propagation_barrier.h"
#include "core/hlo/sharding_group.h"
#include "sharding/partition/region.h"

namespace shoal {

absl::Status PartitionConstant(Region& region, const Instruction& old);          // constant.cc
absl::Status PartitionReduce(Region& region, const Instruction& old);            // reduce.cc
absl::Status PartitionGather(Region& region, const Instruction& old);            // gather.cc
absl::Status PartitionScatter(Region& region, const Instruction& old);           // gather.cc
absl::Status PartitionSpatial(Region& region, const Instruction& old);           // spatial.cc
absl::Status PartitionSelectAndScatter(Region& region, const Instruction& old);  // select_and_scatter.cc
absl::Status PartitionConcatenate(Region& region, const Instruction& old);       // concatenate.cc
absl::Status PartitionReverse(Region& region, const Instruction& old);
absl::Status PartitionSort(Region& region, const Instruction& old);          // sort.cc
absl::Status PartitionTopK(Region& region, const Instruction& old);          // sort.cc
absl::Status PartitionDynamicSlice(Region& region, const Instruction& old);  // dynamic.cc
absl::Status PartitionDynamicUpdateSlice(Region& region, const Instruction& old);
absl::Status PartitionTuple(Region& region, const Instruction& old);  // tuple.cc
absl::Status PartitionGetTupleElement(Region& region, const Instruction& old);
absl::Status PartitionBarrier(Region& region, const Instruction& old);
absl::Status PartitionWhile(Region& region, const Instruction& old);  // control.cc
absl::Status PartitionConditional(Region& region, const Instruction& old);
absl::Status PartitionManual(Region& region, const Instruction& old);  // sharding.cc
absl::Status PartitionConstraint(Region& region, const Instruction& old);
absl::Status PartitionCustomCall(Region& region, const Instruction& old);  // custom_call.cc

// What only propagation reads.
absl::Status PartitionAway(Region&, const Instruction&) { return absl::OkStatus(); }

PartitionFunction PartitionFunctionFor(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kIota:
      return PartitionConstant;
    case Opcode::kBroadcast:
      return instruction.operand(0)->shape().rank() == 0 ? PartitionConstant : PartitionGeneric;
    case Opcode::kReduce:
      return PartitionReduce;
    case Opcode::kGather:
      return PartitionGather;
    case Opcode::kScatter:
      return PartitionScatter;
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kReduceWindow:
    case Opcode::kConvolution:
      return PartitionSpatial;
    case Opcode::kSelectAndScatter:
      return PartitionSelectAndScatter;
    case Opcode::kConcatenate:
      return PartitionConcatenate;
    case Opcode::kSort:
      return PartitionSort;
    case Opcode::kTopK:
      return PartitionTopK;
    case Opcode::kDynamicSlice:
      return PartitionDynamicSlice;
    case Opcode::kDynamicUpdateSlice:
      return PartitionDynamicUpdateSlice;
    case Opcode::kReverse:
      return PartitionReverse;
    case Opcode::kTuple:
      return PartitionTuple;
    case Opcode::kGetTupleElement:
      return PartitionGetTupleElement;
    case Opcode::kOptimizationBarrier:
      return PartitionBarrier;
    case Opcode::kWhile:
      return PartitionWhile;
    case Opcode::kConditional:
      return PartitionConditional;
    case Opcode::kManualComputation:
      return PartitionManual;
    case Opcode::kShardingConstraint:
    case Opcode::kReshard:
      return PartitionConstraint;
    case Opcode::kCustomCall:
      if (IsPropagationBarrier(instruction)) return PartitionConstraint;
      return IsShardingGroup(instruction) ? PartitionAway : PartitionCustomCall;
    case Opcode::kAfterAll:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return PartitionReplicated;
    default:
      return PartitionGeneric;
  }
}

}  // namespace shoal
