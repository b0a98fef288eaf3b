// The attributes of instructions: a plain struct a kind, and a variant that holds whichever an instruction
// has.
//
// Each struct lists its fields once, in ForEachField(visitor): visitor(name, field). Printing, parsing,
// equality and hashing are derived from it, so text and memory cannot disagree. The names are those of XLA's
// HLO text where it has them. Which opcode has which struct is said beside the struct.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/hlo/sharding.h"
#include "core/types/literal.h"
#include "core/types/shape.h"

namespace shoal {

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class RandomAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
enum class RandomDistribution : uint8_t { kUniform, kNormal };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
enum class TransposeKind : uint8_t { kNoTranspose, kTranspose, kAdjoint };
enum class Precision : uint8_t { kDefault, kHigh, kHighest };
// kLoop: elementwise and index maps; kReduce: rooted in reductions; kInPlace: rooted in a
// dynamic-update-slice or scatter that writes into operand 0's memory.
enum class FusionKind : uint8_t { kLoop, kReduce, kInPlace };

// One dimension of a window, with XLA's meaning: padding may be negative, dilations spread base or window.
struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
  bool reversal = false;
  friend bool operator==(const WindowDimension&, const WindowDimension&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const WindowDimension& w) {
    return H::combine(std::move(h), w.size, w.stride, w.padding_low, w.padding_high, w.base_dilation,
                      w.window_dilation, w.reversal);
  }
};
using Window = std::vector<WindowDimension>;
using IntVector = std::vector<int64_t>;
using Groups = std::vector<std::vector<int64_t>>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

#define SHOAL_FIELDS(...)          \
  template <typename V>            \
  void ForEachField(V&& v) {       \
    __VA_ARGS__                    \
  }                                \
  template <typename V>            \
  void ForEachField(V&& v) const { \
    __VA_ARGS__                    \
  }

// broadcast (dimensions[i] is the result dimension of operand dimension i), transpose (result dimension i is
// operand dimension dimensions[i]), reduce (the reduced ones), concatenate (one), reverse, iota (one)
struct DimensionsAttributes {
  IntVector dimensions;
  SHOAL_FIELDS(v("dimensions", dimensions);)
};
struct ParameterAttributes {  // parameter
  int64_t number = 0;
  SHOAL_FIELDS(v("number", number);)
};
struct ConstantAttributes {  // constant
  Literal value;
  SHOAL_FIELDS(v("value", value);)
};
struct TupleIndexAttributes {  // get-tuple-element
  int64_t index = 0;
  SHOAL_FIELDS(v("index", index);)
};
struct CompareAttributes {  // compare; total_order: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN
  ComparisonDirection direction = ComparisonDirection::kEq;
  bool total_order = false;
  SHOAL_FIELDS(v("direction", direction); v("total_order", total_order);)
};
struct ReducePrecisionAttributes {  // reduce-precision
  int64_t exponent_bits = 0, mantissa_bits = 0;
  SHOAL_FIELDS(v("exponent_bits", exponent_bits); v("mantissa_bits", mantissa_bits);)
};
struct RngAttributes {  // rng, rng-bit-generator
  RandomAlgorithm algorithm = RandomAlgorithm::kDefault;
  RandomDistribution distribution = RandomDistribution::kUniform;
  SHOAL_FIELDS(v("algorithm", algorithm); v("distribution", distribution);)
};
struct DotAttributes {  // dot: result dimensions are batch, free lhs, free rhs
  IntVector lhs_batch_dims, rhs_batch_dims, lhs_contracting_dims, rhs_contracting_dims;
  Precision precision = Precision::kDefault;
  SHOAL_FIELDS(v("lhs_batch_dims", lhs_batch_dims); v("lhs_contracting_dims", lhs_contracting_dims);
               v("rhs_batch_dims", rhs_batch_dims); v("rhs_contracting_dims", rhs_contracting_dims);
               v("precision", precision);)
};
struct ConvolutionAttributes {  // convolution
  Window window;                // one a spatial dimension
  int64_t input_batch = 0, input_feature = 0, kernel_input_feature = 0, kernel_output_feature = 0;
  int64_t output_batch = 0, output_feature = 0;
  IntVector input_spatial, kernel_spatial, output_spatial;
  int64_t feature_group_count = 1, batch_group_count = 1;
  Precision precision = Precision::kDefault;
  SHOAL_FIELDS(v("window", window); v("input_batch", input_batch); v("input_feature", input_feature);
               v("kernel_input_feature", kernel_input_feature);
               v("kernel_output_feature", kernel_output_feature); v("output_batch", output_batch);
               v("output_feature", output_feature); v("input_spatial", input_spatial);
               v("kernel_spatial", kernel_spatial); v("output_spatial", output_spatial);
               v("feature_group_count", feature_group_count); v("batch_group_count", batch_group_count);
               v("precision", precision);)
};
struct WindowAttributes {  // reduce-window, select-and-scatter: one a dimension of the operand
  Window window;
  SHOAL_FIELDS(v("window", window);)
};
struct SliceAttributes {  // slice
  IntVector starts, limits, strides;
  SHOAL_FIELDS(v("starts", starts); v("limits", limits); v("strides", strides);)
};
struct DynamicSliceAttributes {  // dynamic-slice; start indices are scalar operands 1..rank, clamped
  IntVector dynamic_slice_sizes;
  SHOAL_FIELDS(v("dynamic_slice_sizes", dynamic_slice_sizes);)
};
struct PadAttributes {  // pad; low and high may be negative
  IntVector low, high, interior;
  SHOAL_FIELDS(v("low", low); v("high", high); v("interior", interior);)
};
struct GatherAttributes {  // gather
  IntVector offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  IntVector slice_sizes;
  bool indices_are_sorted = false;
  SHOAL_FIELDS(v("offset_dims", offset_dims); v("collapsed_slice_dims", collapsed_slice_dims);
               v("start_index_map", start_index_map); v("operand_batching_dims", operand_batching_dims);
               v("start_indices_batching_dims", start_indices_batching_dims);
               v("index_vector_dim", index_vector_dim); v("slice_sizes", slice_sizes);
               v("indices_are_sorted", indices_are_sorted);)
};
struct ScatterAttributes {  // scatter: operands are n inputs, indices, n updates
  IntVector update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  SHOAL_FIELDS(v("update_window_dims", update_window_dims); v("inserted_window_dims", inserted_window_dims);
               v("scatter_dims_to_operand_dims", scatter_dims_to_operand_dims);
               v("input_batching_dims", input_batching_dims);
               v("scatter_indices_batching_dims", scatter_indices_batching_dims);
               v("index_vector_dim", index_vector_dim); v("indices_are_sorted", indices_are_sorted);
               v("unique_indices", unique_indices);)
};
struct SortAttributes {  // sort
  int64_t dimension = 0;
  bool is_stable = false;
  SHOAL_FIELDS(v("dimension", dimension); v("is_stable", is_stable);)
};
struct TopKAttributes {  // topk: over the last dimension, values and s32 indices, lower index first on ties
  int64_t k = 0;
  bool largest = true;
  SHOAL_FIELDS(v("k", k); v("largest", largest);)
};
struct FusionAttributes {  // fusion
  FusionKind kind = FusionKind::kLoop;
  SHOAL_FIELDS(v("kind", kind);)
};
struct CollectiveAttributes {  // the collectives. Groups and pairs hold partition ids after import.
  Groups replica_groups;       // empty: one group of all
  Pairs source_target_pairs;   // collective-permute
  IntVector dimensions;        // all-gather, reduce-scatter: one; all-to-all: the split, the concatenated
  int64_t channel_id = 0;
  bool use_global_device_ids = false;
  SHOAL_FIELDS(v("channel_id", channel_id); v("replica_groups", replica_groups);
               v("source_target_pairs", source_target_pairs); v("dimensions", dimensions);
               v("use_global_device_ids", use_global_device_ids);)
};
struct ManualAttributes {  // manual-computation: inside, arrays are local along manual_axes
  std::vector<Sharding> in_shardings, out_shardings;
  std::vector<std::string> manual_axes;
  SHOAL_FIELDS(v("in_shardings", in_shardings); v("out_shardings", out_shardings);
               v("manual_axes", manual_axes);)
};
struct FftAttributes {  // fft
  FftType type = FftType::kFft;
  IntVector length;
  SHOAL_FIELDS(v("type", type); v("length", length);)
};
struct CholeskyAttributes {  // cholesky
  bool lower = true;
  SHOAL_FIELDS(v("lower", lower);)
};
struct TriangularSolveAttributes {  // triangular-solve
  bool left_side = true, lower = true, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kNoTranspose;
  SHOAL_FIELDS(v("left_side", left_side); v("lower", lower); v("unit_diagonal", unit_diagonal);
               v("transpose_a", transpose_a);)
};
struct CustomCallAttributes {  // custom-call, infeed, outfeed
  std::string target;
  std::string backend_config;  // opaque bytes, or the MLIR text of the dictionary for api_version 4
  int64_t api_version = 0;
  bool has_side_effect = false;
  Pairs output_operand_aliases;  // result leaf, operand
  // Empty: the callee sees the arrays as they are. Otherwise one list an operand or result, minor to major:
  // the callee sees an array of that layout, whose dimension layout[rank-1-j] is dimension j of the array
  // here.
  Groups operand_layouts, result_layouts;
  SHOAL_FIELDS(v("custom_call_target", target); v("backend_config", backend_config);
               v("api_version", api_version); v("custom_call_has_side_effect", has_side_effect);
               v("output_operand_aliases", output_operand_aliases); v("operand_layouts", operand_layouts);
               v("result_layouts", result_layouts);)
};
#undef SHOAL_FIELDS

using Attributes =
    std::variant<std::monostate, DimensionsAttributes, ParameterAttributes, ConstantAttributes,
                 TupleIndexAttributes, CompareAttributes, ReducePrecisionAttributes, RngAttributes,
                 DotAttributes, ConvolutionAttributes, WindowAttributes, SliceAttributes,
                 DynamicSliceAttributes, PadAttributes, GatherAttributes, ScatterAttributes, SortAttributes,
                 TopKAttributes, FusionAttributes, CollectiveAttributes, ManualAttributes, FftAttributes,
                 CholeskyAttributes, TriangularSolveAttributes, CustomCallAttributes>;

// Same alternative, same fields.
bool operator==(const Attributes& a, const Attributes& b);
uint64_t HashOf(const Attributes& attributes);

// "EQ", "GE"; "rng_three_fry"; ... as HLO text spells them, and back (false: no such word).
absl::string_view EnumName(ComparisonDirection value);
absl::string_view EnumName(RandomAlgorithm value);
absl::string_view EnumName(RandomDistribution value);
absl::string_view EnumName(FftType value);
absl::string_view EnumName(TransposeKind value);
absl::string_view EnumName(Precision value);
absl::string_view EnumName(FusionKind value);
bool ParseEnum(absl::string_view word, ComparisonDirection& value);
bool ParseEnum(absl::string_view word, RandomAlgorithm& value);
bool ParseEnum(absl::string_view word, RandomDistribution& value);
bool ParseEnum(absl::string_view word, FftType& value);
bool ParseEnum(absl::string_view word, TransposeKind& value);
bool ParseEnum(absl::string_view word, Precision& value);
bool ParseEnum(absl::string_view word, FusionKind& value);

}  // namespace shoal
