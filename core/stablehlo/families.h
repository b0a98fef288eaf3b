// The import functions of each family; op_table.cc says which operation has which. Those of a family stand in
// the file of its name.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/hlo/attributes.h"

namespace shoal {

class OpImporter;

// elementwise.cc
absl::Status ImportElementwise(OpImporter& c);
absl::Status ImportCompare(OpImporter& c);
absl::Status ImportReducePrecision(OpImporter& c);
absl::Status ImportMap(OpImporter& c);
absl::Status ImportSquare(OpImporter& c);
// constant.cc
absl::Status ImportConstant(OpImporter& c);
absl::Status ImportDynamicIota(OpImporter& c);
absl::Status ImportIota(OpImporter& c);
absl::Status ImportGetDimensionSize(OpImporter& c);
// rng.cc
absl::Status ImportRng(OpImporter& c);
absl::Status ImportRngBitGenerator(OpImporter& c);
// dot.cc
absl::Status ImportDot(OpImporter& c);
absl::Status ImportDotGeneral(OpImporter& c);
// convolution.cc
absl::Status ImportConvolution(OpImporter& c);
// With `padding` (pairs, low and high) in place of the attribute's, if not null.
absl::Status EmitConvolution(OpImporter& c, const IntVector* padding);
// batch_norm.cc
absl::Status ImportBatchNormGrad(OpImporter& c);
absl::Status ImportBatchNormInference(OpImporter& c);
absl::Status ImportBatchNormTraining(OpImporter& c);
// dynamic.cc
// InvalidArgument if operand `i`, the sizes of the result, is a constant that says another shape than the
// type does.
absl::Status CheckSizesOperand(const OpImporter& c, size_t i, absl::string_view label);
absl::Status ImportDynamicConv(OpImporter& c);
absl::Status ImportDynamicGather(OpImporter& c);
absl::Status ImportDynamicPad(OpImporter& c);
absl::Status ImportRealDynamicSlice(OpImporter& c);
absl::Status ImportSetDimensionSize(OpImporter& c);
// host_transfer.cc
absl::Status ImportFeed(OpImporter& c);
absl::Status ImportRecv(OpImporter& c);
absl::Status ImportSend(OpImporter& c);
// reduce.cc
absl::Status ImportReduce(OpImporter& c);
// reduce_window.cc
absl::Status ImportReduceWindow(OpImporter& c);
absl::Status ImportSelectAndScatter(OpImporter& c);
// reshape.cc
absl::Status ImportBroadcast(OpImporter& c);
absl::Status ImportBroadcastInDim(OpImporter& c);
absl::Status ImportDynamicBroadcastInDim(OpImporter& c);
absl::Status ImportDynamicReshape(OpImporter& c);
absl::Status ImportReshape(OpImporter& c);
absl::Status ImportTranspose(OpImporter& c);
// slice.cc
absl::Status ImportConcatenate(OpImporter& c);
absl::Status ImportDynamicSlice(OpImporter& c);
absl::Status ImportDynamicUpdateSlice(OpImporter& c);
absl::Status ImportPad(OpImporter& c);
absl::Status ImportReverse(OpImporter& c);
absl::Status ImportSlice(OpImporter& c);
// gather.cc
absl::Status ImportGather(OpImporter& c);
absl::Status EmitGather(OpImporter& c, IntVector slice_sizes);
absl::Status ImportScatter(OpImporter& c);
// sort.cc
absl::Status ImportSort(OpImporter& c);
absl::Status ImportTopK(OpImporter& c);
// control.cc
absl::Status ImportCall(OpImporter& c);
absl::Status ImportCase(OpImporter& c);
absl::Status ImportIf(OpImporter& c);
absl::Status ImportWhile(OpImporter& c);
absl::Status ImportComposite(OpImporter& c);
// tuple.cc
absl::Status ImportAfterAll(OpImporter& c);
absl::Status ImportConversionCast(OpImporter& c);
absl::Status ImportGetTupleElement(OpImporter& c);
absl::Status ImportIdentity(OpImporter& c);
absl::Status ImportOptimizationBarrier(OpImporter& c);
absl::Status ImportTuple(OpImporter& c);
// quantized.cc
absl::Status ImportUniformDequantize(OpImporter& c);
absl::Status ImportUniformQuantize(OpImporter& c);
// collective.cc
absl::Status ImportAllGather(OpImporter& c);
absl::Status ImportAllReduce(OpImporter& c);
absl::Status ImportAllToAll(OpImporter& c);
absl::Status ImportAsyncDone(OpImporter& c);
absl::Status ImportAsyncStart(OpImporter& c);
absl::Status ImportCollectiveBroadcast(OpImporter& c);
absl::Status ImportCollectivePermute(OpImporter& c);
absl::Status ImportCollectiveReduce(OpImporter& c);
absl::Status ImportPartitionId(OpImporter& c);
absl::Status ImportRecvFromDevice(OpImporter& c);
absl::Status ImportReduceScatter(OpImporter& c);
absl::Status ImportReplicaId(OpImporter& c);
absl::Status ImportSendToDevice(OpImporter& c);
// sharding.cc
absl::Status ImportManualComputation(OpImporter& c);
absl::Status ImportNamedComputation(OpImporter& c);
absl::Status ImportReshard(OpImporter& c);
absl::Status ImportShardingConstraint(OpImporter& c);
absl::Status ImportShardingGroup(OpImporter& c);
absl::Status ImportPropagationBarrier(OpImporter& c);
// linalg.cc
absl::Status ImportCholesky(OpImporter& c);
absl::Status ImportTriangularSolve(OpImporter& c);
// fft.cc
absl::Status ImportFft(OpImporter& c);
// gspmd_manual.cc: with what stands in the call's backend_config
absl::Status ImportGspmdConstraint(OpImporter& c, absl::string_view config);
absl::Status ImportGspmdBorder(OpImporter& c, absl::string_view config);
// custom_call.cc
absl::Status ImportCustomCall(OpImporter& c);

}  // namespace shoal
