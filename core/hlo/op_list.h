// The table of operations and the list of their families. Everything else about operations (enum, names,
// arity, facet tables of each layer) is derived from these two lists.
//
// O(enum, HLO text, arity (-1: any), family, flags), sorted by enum within its family. The names and meanings
// are XLA HLO's, so that the text and proto forms mean the same to XLA's tools; the family `sharding` is
// Shoal's own and is gone after partitioning.
//
// F(family, file stem): each layer keeps its part of a family under that stem: core/ops/<stem>.cc,
// core/codegen/<stem>.cc, sharding/rules/<stem>.cc.
#pragma once

#include <cstdint>

#define HLO_OP_LIST(O)                                                                  \
  /* elementwise: result element i depends on operand elements i (or on a scalar) */    \
  O(kAbs, "abs", 1, kElementwise, kNone)                                                \
  O(kAcos, "acos", 1, kElementwise, kTranscendental)                                    \
  O(kAcosh, "acosh", 1, kElementwise, kTranscendental)                                  \
  O(kAdd, "add", 2, kElementwise, kCommutative)                                         \
  O(kAnd, "and", 2, kElementwise, kCommutative)                                         \
  O(kAsin, "asin", 1, kElementwise, kTranscendental)                                    \
  O(kAsinh, "asinh", 1, kElementwise, kTranscendental)                                  \
  O(kAtan2, "atan2", 2, kElementwise, kTranscendental)                                  \
  O(kAtanh, "atanh", 1, kElementwise, kTranscendental)                                  \
  O(kBitcastConvert, "bitcast-convert", 1, kElementwise, kNone)                         \
  O(kCbrt, "cbrt", 1, kElementwise, kTranscendental)                                    \
  O(kCeil, "ceil", 1, kElementwise, kNone)                                              \
  O(kClamp, "clamp", 3, kElementwise, kNone)                                            \
  O(kClz, "count-leading-zeros", 1, kElementwise, kNone)                                \
  O(kCompare, "compare", 2, kElementwise, kNone)                                        \
  O(kComplex, "complex", 2, kElementwise, kNone)                                        \
  O(kConvert, "convert", 1, kElementwise, kNone)                                        \
  O(kCopy, "copy", 1, kElementwise, kNone)                                              \
  O(kCos, "cosine", 1, kElementwise, kTranscendental)                                   \
  O(kCosh, "cosh", 1, kElementwise, kTranscendental)                                    \
  O(kDivide, "divide", 2, kElementwise, kNone)                                          \
  O(kErf, "erf", 1, kElementwise, kTranscendental)                                      \
  O(kExp, "exponential", 1, kElementwise, kTranscendental)                              \
  O(kExpm1, "exponential-minus-one", 1, kElementwise, kTranscendental)                  \
  O(kFloor, "floor", 1, kElementwise, kNone)                                            \
  O(kImag, "imag", 1, kElementwise, kNone)                                              \
  O(kIsFinite, "is-finite", 1, kElementwise, kNone)                                     \
  O(kLog, "log", 1, kElementwise, kTranscendental)                                      \
  O(kLog1p, "log-plus-one", 1, kElementwise, kTranscendental)                           \
  O(kLogistic, "logistic", 1, kElementwise, kTranscendental)                            \
  O(kMaximum, "maximum", 2, kElementwise, kCommutative)                                 \
  O(kMinimum, "minimum", 2, kElementwise, kCommutative)                                 \
  O(kMultiply, "multiply", 2, kElementwise, kCommutative)                               \
  O(kNegate, "negate", 1, kElementwise, kNone)                                          \
  O(kNot, "not", 1, kElementwise, kNone)                                                \
  O(kOr, "or", 2, kElementwise, kCommutative)                                           \
  O(kPopcnt, "popcnt", 1, kElementwise, kNone)                                          \
  O(kPower, "power", 2, kElementwise, kTranscendental)                                  \
  O(kReal, "real", 1, kElementwise, kNone)                                              \
  O(kReducePrecision, "reduce-precision", 1, kElementwise, kNone)                       \
  O(kRemainder, "remainder", 2, kElementwise, kNone)                                    \
  O(kRoundNearestAfz, "round-nearest-afz", 1, kElementwise, kNone)                      \
  O(kRoundNearestEven, "round-nearest-even", 1, kElementwise, kNone)                    \
  O(kRsqrt, "rsqrt", 1, kElementwise, kTranscendental)                                  \
  O(kSelect, "select", 3, kElementwise, kNone)                                          \
  O(kShiftLeft, "shift-left", 2, kElementwise, kNone)                                   \
  O(kShiftRightArithmetic, "shift-right-arithmetic", 2, kElementwise, kNone)            \
  O(kShiftRightLogical, "shift-right-logical", 2, kElementwise, kNone)                  \
  O(kSign, "sign", 1, kElementwise, kNone)                                              \
  O(kSin, "sine", 1, kElementwise, kTranscendental)                                     \
  O(kSinh, "sinh", 1, kElementwise, kTranscendental)                                    \
  O(kSqrt, "sqrt", 1, kElementwise, kTranscendental)                                    \
  O(kSubtract, "subtract", 2, kElementwise, kNone)                                      \
  O(kTan, "tan", 1, kElementwise, kTranscendental)                                      \
  O(kTanh, "tanh", 1, kElementwise, kTranscendental)                                    \
  O(kXor, "xor", 2, kElementwise, kCommutative)                                         \
  /* values from nothing */                                                             \
  O(kConstant, "constant", 0, kConstantFamily, kNone)                                   \
  O(kIota, "iota", 0, kConstantFamily, kNone)                                           \
  O(kRng, "rng", 2, kRngFamily, kSideEffect)                                            \
  O(kRngBitGenerator, "rng-bit-generator", 1, kRngFamily, kNone)                        \
  /* contractions, windows, reductions */                                               \
  O(kDot, "dot", 2, kDotFamily, kNone)                                                  \
  O(kConvolution, "convolution", 2, kConvolutionFamily, kNone)                          \
  O(kReduce, "reduce", -1, kReduceFamily, kHasRegion)                                   \
  O(kReduceWindow, "reduce-window", -1, kReduceWindowFamily, kHasRegion)                \
  O(kSelectAndScatter, "select-and-scatter", 3, kReduceWindowFamily, kHasRegion)        \
  /* index maps */                                                                      \
  O(kBitcast, "bitcast", 1, kReshapeFamily, kNone)                                      \
  O(kBroadcast, "broadcast", 1, kReshapeFamily, kNone)                                  \
  O(kReshape, "reshape", 1, kReshapeFamily, kNone)                                      \
  O(kTranspose, "transpose", 1, kReshapeFamily, kNone)                                  \
  O(kConcatenate, "concatenate", -1, kSliceFamily, kNone)                               \
  O(kDynamicSlice, "dynamic-slice", -1, kSliceFamily, kNone)                            \
  O(kDynamicUpdateSlice, "dynamic-update-slice", -1, kSliceFamily, kNone)               \
  O(kPad, "pad", 2, kSliceFamily, kNone)                                                \
  O(kReverse, "reverse", 1, kSliceFamily, kNone)                                        \
  O(kSlice, "slice", 1, kSliceFamily, kNone)                                            \
  O(kGather, "gather", 2, kGatherFamily, kNone)                                         \
  O(kScatter, "scatter", -1, kGatherFamily, kHasRegion)                                 \
  O(kSort, "sort", -1, kSortFamily, kHasRegion)                                         \
  O(kTopK, "topk", 1, kSortFamily, kNone)                                               \
  /* control, structure */                                                              \
  O(kCall, "call", -1, kControlFamily, kHasRegion)                                      \
  O(kConditional, "conditional", -1, kControlFamily, kHasRegion)                        \
  O(kWhile, "while", 1, kControlFamily, kHasRegion)                                     \
  O(kFusion, "fusion", -1, kFusionFamily, kHasRegion)                                   \
  O(kAfterAll, "after-all", -1, kTupleFamily, kNone)                                    \
  O(kGetTupleElement, "get-tuple-element", 1, kTupleFamily, kNone)                      \
  O(kOptimizationBarrier, "opt-barrier", 1, kTupleFamily, kNone)                        \
  O(kParameter, "parameter", 0, kTupleFamily, kNone)                                    \
  O(kTuple, "tuple", -1, kTupleFamily, kNone)                                           \
  /* between devices */                                                                 \
  O(kAllGather, "all-gather", -1, kCollectiveFamily, kCrossDevice)                      \
  O(kAllReduce, "all-reduce", -1, kCollectiveFamily, kCrossDevice | kHasRegion)         \
  O(kAllToAll, "all-to-all", -1, kCollectiveFamily, kCrossDevice)                       \
  O(kCollectiveBroadcast, "collective-broadcast", -1, kCollectiveFamily, kCrossDevice)  \
  O(kCollectivePermute, "collective-permute", -1, kCollectiveFamily, kCrossDevice)      \
  O(kPartitionId, "partition-id", 0, kCollectiveFamily, kNone)                          \
  O(kReduceScatter, "reduce-scatter", -1, kCollectiveFamily, kCrossDevice | kHasRegion) \
  O(kReplicaId, "replica-id", 0, kCollectiveFamily, kNone)                              \
  /* what the partitioner consumes */                                                   \
  O(kManualComputation, "manual-computation", -1, kShardingFamily, kHasRegion)          \
  O(kReshard, "reshard", 1, kShardingFamily, kNone)                                     \
  O(kShardingConstraint, "sharding-constraint", 1, kShardingFamily, kNone)              \
  /* libraries */                                                                       \
  O(kFft, "fft", 1, kFftFamily, kNone)                                                  \
  O(kCholesky, "cholesky", 1, kLinalgFamily, kNone)                                     \
  O(kTriangularSolve, "triangular-solve", 2, kLinalgFamily, kNone)                      \
  O(kCustomCall, "custom-call", -1, kCustomCallFamily, kSideEffect | kHasRegion)        \
  O(kInfeed, "infeed", 1, kCustomCallFamily, kSideEffect)                               \
  O(kOutfeed, "outfeed", 2, kCustomCallFamily, kSideEffect)

#define HLO_FAMILY_LIST(F)              \
  F(kElementwise, elementwise)          \
  F(kConstantFamily, constant)          \
  F(kRngFamily, rng)                    \
  F(kDotFamily, dot)                    \
  F(kConvolutionFamily, convolution)    \
  F(kReduceFamily, reduce)              \
  F(kReduceWindowFamily, reduce_window) \
  F(kReshapeFamily, reshape)            \
  F(kSliceFamily, slice)                \
  F(kGatherFamily, gather)              \
  F(kSortFamily, sort)                  \
  F(kControlFamily, control)            \
  F(kFusionFamily, fusion)              \
  F(kTupleFamily, tuple)                \
  F(kCollectiveFamily, collective)      \
  F(kShardingFamily, sharding)          \
  F(kFftFamily, fft)                    \
  F(kLinalgFamily, linalg)              \
  F(kCustomCallFamily, custom_call)
