// Every operation that the importer takes, with the function that imports it. An operation with versions has
// one row: its function knows them all.
#include "absl/container/flat_hash_map.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

struct Row {
  absl::string_view name;
  ImportFn import;
};

// Where a value goes into a region or comes out of it: the value, of which it may name the sharding.
absl::Status ImportDataFlowEdge(OpImporter& c) {
  return c.Find("sharding") == nullptr ? ImportIdentity(c) : ImportShardingConstraint(c);
}

constexpr Row kRows[] = {
    {"stablehlo.abs", ImportElementwise},
    {"stablehlo.add", ImportElementwise},
    {"stablehlo.after_all", ImportAfterAll},
    {"stablehlo.all_gather", ImportAllGather},
    {"stablehlo.all_reduce", ImportAllReduce},
    {"stablehlo.all_to_all", ImportAllToAll},
    {"stablehlo.and", ImportElementwise},
    {"stablehlo.async_done", ImportAsyncDone},
    {"stablehlo.async_start", ImportAsyncStart},
    {"stablehlo.atan2", ImportElementwise},
    {"stablehlo.batch_norm_grad", ImportBatchNormGrad},
    {"stablehlo.batch_norm_inference", ImportBatchNormInference},
    {"stablehlo.batch_norm_training", ImportBatchNormTraining},
    {"stablehlo.bitcast_convert", ImportElementwise},
    {"stablehlo.broadcast", ImportBroadcast},
    {"stablehlo.broadcast_in_dim", ImportBroadcastInDim},
    {"stablehlo.case", ImportCase},
    {"stablehlo.cbrt", ImportElementwise},
    {"stablehlo.ceil", ImportElementwise},
    {"stablehlo.cholesky", ImportCholesky},
    {"stablehlo.clamp", ImportElementwise},
    {"stablehlo.collective_broadcast", ImportCollectiveBroadcast},
    {"stablehlo.collective_permute", ImportCollectivePermute},
    {"stablehlo.collective_reduce", ImportCollectiveReduce},
    {"stablehlo.compare", ImportCompare},
    {"stablehlo.complex", ImportElementwise},
    {"stablehlo.composite", ImportComposite},
    {"stablehlo.concatenate", ImportConcatenate},
    {"stablehlo.constant", ImportConstant},
    {"stablehlo.convert", ImportElementwise},
    {"stablehlo.convolution", ImportConvolution},
    {"stablehlo.cosine", ImportElementwise},
    {"stablehlo.count_leading_zeros", ImportElementwise},
    {"stablehlo.create_token", ImportAfterAll},
    {"stablehlo.custom_call", ImportCustomCall},
    {"stablehlo.divide", ImportElementwise},
    {"stablehlo.dot", ImportDot},
    {"stablehlo.dot_general", ImportDotGeneral},
    {"stablehlo.dynamic_broadcast_in_dim", ImportDynamicBroadcastInDim},
    {"stablehlo.dynamic_conv", ImportDynamicConv},
    {"stablehlo.dynamic_gather", ImportDynamicGather},
    {"stablehlo.dynamic_iota", ImportDynamicIota},
    {"stablehlo.dynamic_pad", ImportDynamicPad},
    {"stablehlo.dynamic_reshape", ImportDynamicReshape},
    {"stablehlo.dynamic_slice", ImportDynamicSlice},
    {"stablehlo.dynamic_update_slice", ImportDynamicUpdateSlice},
    {"stablehlo.exponential", ImportElementwise},
    {"stablehlo.exponential_minus_one", ImportElementwise},
    {"stablehlo.fft", ImportFft},
    {"stablehlo.floor", ImportElementwise},
    {"stablehlo.gather", ImportGather},
    {"stablehlo.get_dimension_size", ImportGetDimensionSize},
    {"stablehlo.get_tuple_element", ImportGetTupleElement},
    {"stablehlo.if", ImportIf},
    {"stablehlo.imag", ImportElementwise},
    {"stablehlo.infeed", ImportFeed},
    {"stablehlo.iota", ImportIota},
    {"stablehlo.is_finite", ImportElementwise},
    {"stablehlo.log", ImportElementwise},
    {"stablehlo.log_plus_one", ImportElementwise},
    {"stablehlo.logistic", ImportElementwise},
    {"stablehlo.map", ImportMap},
    {"stablehlo.maximum", ImportElementwise},
    {"stablehlo.minimum", ImportElementwise},
    {"stablehlo.multiply", ImportElementwise},
    {"stablehlo.negate", ImportElementwise},
    {"stablehlo.not", ImportElementwise},
    {"stablehlo.optimization_barrier", ImportOptimizationBarrier},
    {"stablehlo.or", ImportElementwise},
    {"stablehlo.outfeed", ImportFeed},
    {"stablehlo.pad", ImportPad},
    {"stablehlo.partition_id", ImportPartitionId},
    {"stablehlo.popcnt", ImportElementwise},
    {"stablehlo.power", ImportElementwise},
    {"stablehlo.real", ImportElementwise},
    {"stablehlo.real_dynamic_slice", ImportRealDynamicSlice},
    {"stablehlo.recv", ImportRecv},
    {"stablehlo.reduce", ImportReduce},
    {"stablehlo.reduce_precision", ImportReducePrecision},
    {"stablehlo.reduce_scatter", ImportReduceScatter},
    {"stablehlo.reduce_window", ImportReduceWindow},
    {"stablehlo.remainder", ImportElementwise},
    {"stablehlo.replica_id", ImportReplicaId},
    {"stablehlo.reshape", ImportReshape},
    {"stablehlo.reverse", ImportReverse},
    {"stablehlo.rng", ImportRng},
    {"stablehlo.rng_bit_generator", ImportRngBitGenerator},
    {"stablehlo.round_nearest_afz", ImportElementwise},
    {"stablehlo.round_nearest_even", ImportElementwise},
    {"stablehlo.rsqrt", ImportElementwise},
    {"stablehlo.scatter", ImportScatter},
    {"stablehlo.select", ImportElementwise},
    {"stablehlo.select_and_scatter", ImportSelectAndScatter},
    {"stablehlo.send", ImportSend},
    {"stablehlo.set_dimension_size", ImportSetDimensionSize},
    {"stablehlo.shift_left", ImportElementwise},
    {"stablehlo.shift_right_arithmetic", ImportElementwise},
    {"stablehlo.shift_right_logical", ImportElementwise},
    {"stablehlo.sign", ImportElementwise},
    {"stablehlo.sine", ImportElementwise},
    {"stablehlo.slice", ImportSlice},
    {"stablehlo.sort", ImportSort},
    {"stablehlo.sqrt", ImportElementwise},
    {"stablehlo.subtract", ImportElementwise},
    {"stablehlo.tan", ImportElementwise},
    {"stablehlo.tanh", ImportElementwise},
    {"stablehlo.transpose", ImportTranspose},
    {"stablehlo.triangular_solve", ImportTriangularSolve},
    {"stablehlo.tuple", ImportTuple},
    {"stablehlo.uniform_dequantize", ImportUniformDequantize},
    {"stablehlo.uniform_quantize", ImportUniformQuantize},
    {"stablehlo.while", ImportWhile},
    {"stablehlo.xor", ImportElementwise},
    {"func.call", ImportCall},
    {"builtin.unrealized_conversion_cast", ImportConversionCast},
    {"chlo.acos", ImportElementwise},
    {"chlo.acosh", ImportElementwise},
    {"chlo.asin", ImportElementwise},
    {"chlo.asinh", ImportElementwise},
    {"chlo.atanh", ImportElementwise},
    {"chlo.cosh", ImportElementwise},
    {"chlo.erf", ImportElementwise},
    {"chlo.sinh", ImportElementwise},
    {"chlo.square", ImportSquare},
    {"chlo.tan", ImportElementwise},
    {"chlo.top_k", ImportTopK},
    {"sdy.all_gather", ImportReshard},
    {"sdy.all_reduce", ImportReshard},
    {"sdy.all_slice", ImportReshard},
    {"sdy.all_to_all", ImportReshard},
    {"sdy.collective_permute", ImportReshard},
    {"sdy.constant", ImportConstant},
    {"sdy.data_flow_edge", ImportDataFlowEdge},
    {"sdy.func_data_flow_edge", ImportDataFlowEdge},
    {"sdy.manual_computation", ImportManualComputation},
    {"sdy.named_computation", ImportNamedComputation},
    {"sdy.propagation_barrier", ImportPropagationBarrier},
    {"sdy.reduce_scatter", ImportReshard},
    {"sdy.replicated_to_unreduced", ImportReshard},
    {"sdy.reshard", ImportReshard},
    {"sdy.sharded_to_unreduced", ImportReshard},
    {"sdy.sharding_constraint", ImportShardingConstraint},
    {"sdy.sharding_group", ImportShardingGroup},
};

}  // namespace

ImportFn FindImportFn(absl::string_view name) {
  static const auto* const index = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, ImportFn>();
    for (const Row& row : kRows) map->emplace(row.name, row.import);
    return map;
  }();
  auto it = index->find(name);
  return it == index->end() ? nullptr : it->second;
}

}  // namespace shoal
