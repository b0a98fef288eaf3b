#include "core/hlo/attribute_proto.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/types/shape.h"

namespace shoal {
namespace {

using Proto = wire::HloInstructionProto;
template <typename T>
using Repeated = google::protobuf::RepeatedField<T>;

// The second dimension of an all-to-all, for which XLA has no field.
constexpr char kConcatDimension[] = "shoal.concat_dimension";
constexpr int64_t kMaxIds = 1 << 20;

void Put(const IntVector& from, Repeated<int64_t>* to) { to->Add(from.begin(), from.end()); }
IntVector Get(const Repeated<int64_t>& from) { return IntVector(from.begin(), from.end()); }

template <typename Enum>
absl::Status GetEnum(absl::string_view what, int64_t number, int64_t count, Enum& value) {
  if (number < 0 || number >= count) return absl::InvalidArgumentError(absl::StrCat(what, " ", number));
  value = static_cast<Enum>(number);
  return absl::OkStatus();
}

// Each kind: Write(opcode, attributes, proto) and Read(opcode, proto, attributes).

void Write(Opcode, const std::monostate&, Proto&) {}
absl::Status Read(Opcode, const Proto&, std::monostate&) { return absl::OkStatus(); }

void Write(Opcode, const DimensionsAttributes& a, Proto& p) { Put(a.dimensions, p.mutable_dimensions()); }
absl::Status Read(Opcode, const Proto& p, DimensionsAttributes& a) {
  a.dimensions = Get(p.dimensions());
  return absl::OkStatus();
}

void Write(Opcode, const ParameterAttributes& a, Proto& p) { p.set_parameter_number(a.number); }
absl::Status Read(Opcode, const Proto& p, ParameterAttributes& a) {
  a.number = p.parameter_number();
  return absl::OkStatus();
}

// literal_proto.h
void Write(Opcode, const ConstantAttributes&, Proto&) {}
absl::Status Read(Opcode, const Proto&, ConstantAttributes&) { return absl::OkStatus(); }

void Write(Opcode, const TupleIndexAttributes& a, Proto& p) { p.set_tuple_index(a.index); }
absl::Status Read(Opcode, const Proto& p, TupleIndexAttributes& a) {
  a.index = p.tuple_index();
  return absl::OkStatus();
}

void Write(Opcode, const CompareAttributes& a, Proto& p) {
  p.set_comparison_direction(std::string(EnumName(a.direction)));
  if (a.total_order) p.set_comparison_type("TOTALORDER");
}
absl::Status Read(Opcode, const Proto& p, CompareAttributes& a) {
  a.total_order = p.comparison_type() == "TOTALORDER";
  if (ParseEnum(p.comparison_direction(), a.direction)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("comparison direction \"", p.comparison_direction(), "\""));
}

void Write(Opcode, const ReducePrecisionAttributes& a, Proto& p) {
  p.set_exponent_bits(static_cast<int32_t>(a.exponent_bits));
  p.set_mantissa_bits(static_cast<int32_t>(a.mantissa_bits));
}
absl::Status Read(Opcode, const Proto& p, ReducePrecisionAttributes& a) {
  a.exponent_bits = p.exponent_bits();
  a.mantissa_bits = p.mantissa_bits();
  return absl::OkStatus();
}

void Write(Opcode opcode, const RngAttributes& a, Proto& p) {
  if (opcode == Opcode::kRng) p.set_distribution(static_cast<int>(a.distribution) + 1);
  if (opcode == Opcode::kRngBitGenerator) p.set_rng_algorithm(static_cast<int>(a.algorithm));
}
absl::Status Read(Opcode opcode, const Proto& p, RngAttributes& a) {
  if (opcode == Opcode::kRng) return GetEnum("distribution", p.distribution() - 1, 2, a.distribution);
  return GetEnum("random algorithm", p.rng_algorithm(), 3, a.algorithm);
}

void WritePrecision(Precision precision, Proto& p) {
  for (int i = 0; i < 2; ++i)
    p.mutable_precision_config()->add_operand_precision(static_cast<int>(precision));
}
absl::Status ReadPrecision(const Proto& p, Precision& precision) {
  for (int number : p.precision_config().operand_precision()) {
    Precision one;
    SHOAL_RETURN_IF_ERROR(GetEnum("precision", number, 3, one));
    precision = std::max(precision, one);
  }
  return absl::OkStatus();
}

void Write(Opcode, const DotAttributes& a, Proto& p) {
  auto& dot = *p.mutable_dot_dimension_numbers();
  Put(a.lhs_batch_dims, dot.mutable_lhs_batch_dimensions());
  Put(a.rhs_batch_dims, dot.mutable_rhs_batch_dimensions());
  Put(a.lhs_contracting_dims, dot.mutable_lhs_contracting_dimensions());
  Put(a.rhs_contracting_dims, dot.mutable_rhs_contracting_dimensions());
  WritePrecision(a.precision, p);
}
absl::Status Read(Opcode, const Proto& p, DotAttributes& a) {
  const auto& dot = p.dot_dimension_numbers();
  a.lhs_batch_dims = Get(dot.lhs_batch_dimensions());
  a.rhs_batch_dims = Get(dot.rhs_batch_dimensions());
  a.lhs_contracting_dims = Get(dot.lhs_contracting_dimensions());
  a.rhs_contracting_dims = Get(dot.rhs_contracting_dimensions());
  return ReadPrecision(p, a.precision);
}

void WriteWindow(const Window& window, Proto& p) {
  for (const WindowDimension& d : window) {
    auto& to = *p.mutable_window()->add_dimensions();
    to.set_size(d.size);
    to.set_stride(d.stride);
    to.set_padding_low(d.padding_low);
    to.set_padding_high(d.padding_high);
    to.set_window_dilation(d.window_dilation);
    to.set_base_dilation(d.base_dilation);
    to.set_window_reversal(d.reversal);
  }
}
void ReadWindow(const Proto& p, Window& window) {
  for (const auto& d : p.window().dimensions()) {
    window.push_back({d.size(), d.stride(), d.padding_low(), d.padding_high(), d.base_dilation(),
                      d.window_dilation(), d.window_reversal()});
  }
}

void Write(Opcode, const ConvolutionAttributes& a, Proto& p) {
  WriteWindow(a.window, p);
  auto& conv = *p.mutable_convolution_dimension_numbers();
  conv.set_input_batch_dimension(a.input_batch);
  conv.set_input_feature_dimension(a.input_feature);
  conv.set_kernel_input_feature_dimension(a.kernel_input_feature);
  conv.set_kernel_output_feature_dimension(a.kernel_output_feature);
  conv.set_output_batch_dimension(a.output_batch);
  conv.set_output_feature_dimension(a.output_feature);
  Put(a.input_spatial, conv.mutable_input_spatial_dimensions());
  Put(a.kernel_spatial, conv.mutable_kernel_spatial_dimensions());
  Put(a.output_spatial, conv.mutable_output_spatial_dimensions());
  p.set_feature_group_count(a.feature_group_count);
  p.set_batch_group_count(a.batch_group_count);
  WritePrecision(a.precision, p);
}
absl::Status Read(Opcode, const Proto& p, ConvolutionAttributes& a) {
  ReadWindow(p, a.window);
  const auto& conv = p.convolution_dimension_numbers();
  a.input_batch = conv.input_batch_dimension();
  a.input_feature = conv.input_feature_dimension();
  a.kernel_input_feature = conv.kernel_input_feature_dimension();
  a.kernel_output_feature = conv.kernel_output_feature_dimension();
  a.output_batch = conv.output_batch_dimension();
  a.output_feature = conv.output_feature_dimension();
  a.input_spatial = Get(conv.input_spatial_dimensions());
  a.kernel_spatial = Get(conv.kernel_spatial_dimensions());
  a.output_spatial = Get(conv.output_spatial_dimensions());
  a.feature_group_count = std::max<int64_t>(p.feature_group_count(), 1);  // 0: not said
  a.batch_group_count = std::max<int64_t>(p.batch_group_count(), 1);
  return ReadPrecision(p, a.precision);
}

void Write(Opcode, const WindowAttributes& a, Proto& p) { WriteWindow(a.window, p); }
absl::Status Read(Opcode, const Proto& p, WindowAttributes& a) {
  ReadWindow(p, a.window);
  return absl::OkStatus();
}

void Write(Opcode, const SliceAttributes& a, Proto& p) {
  for (size_t d = 0; d < a.starts.size(); ++d) {
    auto& to = *p.add_slice_dimensions();
    to.set_start(a.starts[d]);
    to.set_limit(a.limits[d]);
    to.set_stride(a.strides[d]);
  }
}
absl::Status Read(Opcode, const Proto& p, SliceAttributes& a) {
  for (const auto& d : p.slice_dimensions()) {
    a.starts.push_back(d.start());
    a.limits.push_back(d.limit());
    a.strides.push_back(d.stride());
  }
  return absl::OkStatus();
}

void Write(Opcode, const DynamicSliceAttributes& a, Proto& p) {
  Put(a.dynamic_slice_sizes, p.mutable_dynamic_slice_sizes());
}
absl::Status Read(Opcode, const Proto& p, DynamicSliceAttributes& a) {
  a.dynamic_slice_sizes = Get(p.dynamic_slice_sizes());
  return absl::OkStatus();
}

void Write(Opcode, const PadAttributes& a, Proto& p) {
  p.mutable_padding_config();
  for (size_t d = 0; d < a.low.size(); ++d) {
    auto& to = *p.mutable_padding_config()->add_dimensions();
    to.set_edge_padding_low(a.low[d]);
    to.set_edge_padding_high(a.high[d]);
    to.set_interior_padding(a.interior[d]);
  }
}
absl::Status Read(Opcode, const Proto& p, PadAttributes& a) {
  for (const auto& d : p.padding_config().dimensions()) {
    a.low.push_back(d.edge_padding_low());
    a.high.push_back(d.edge_padding_high());
    a.interior.push_back(d.interior_padding());
  }
  return absl::OkStatus();
}

void Write(Opcode, const GatherAttributes& a, Proto& p) {
  auto& gather = *p.mutable_gather_dimension_numbers();
  Put(a.offset_dims, gather.mutable_offset_dims());
  Put(a.collapsed_slice_dims, gather.mutable_collapsed_slice_dims());
  Put(a.start_index_map, gather.mutable_start_index_map());
  Put(a.operand_batching_dims, gather.mutable_operand_batching_dims());
  Put(a.start_indices_batching_dims, gather.mutable_start_indices_batching_dims());
  gather.set_index_vector_dim(a.index_vector_dim);
  Put(a.slice_sizes, p.mutable_gather_slice_sizes());
  p.set_indices_are_sorted(a.indices_are_sorted);
}
absl::Status Read(Opcode, const Proto& p, GatherAttributes& a) {
  const auto& gather = p.gather_dimension_numbers();
  a.offset_dims = Get(gather.offset_dims());
  a.collapsed_slice_dims = Get(gather.collapsed_slice_dims());
  a.start_index_map = Get(gather.start_index_map());
  a.operand_batching_dims = Get(gather.operand_batching_dims());
  a.start_indices_batching_dims = Get(gather.start_indices_batching_dims());
  a.index_vector_dim = gather.index_vector_dim();
  a.slice_sizes = Get(p.gather_slice_sizes());
  a.indices_are_sorted = p.indices_are_sorted();
  return absl::OkStatus();
}

void Write(Opcode, const ScatterAttributes& a, Proto& p) {
  auto& scatter = *p.mutable_scatter_dimension_numbers();
  Put(a.update_window_dims, scatter.mutable_update_window_dims());
  Put(a.inserted_window_dims, scatter.mutable_inserted_window_dims());
  Put(a.scatter_dims_to_operand_dims, scatter.mutable_scatter_dims_to_operand_dims());
  Put(a.input_batching_dims, scatter.mutable_input_batching_dims());
  Put(a.scatter_indices_batching_dims, scatter.mutable_scatter_indices_batching_dims());
  scatter.set_index_vector_dim(a.index_vector_dim);
  p.set_indices_are_sorted(a.indices_are_sorted);
  p.set_unique_indices(a.unique_indices);
}
absl::Status Read(Opcode, const Proto& p, ScatterAttributes& a) {
  const auto& scatter = p.scatter_dimension_numbers();
  a.update_window_dims = Get(scatter.update_window_dims());
  a.inserted_window_dims = Get(scatter.inserted_window_dims());
  a.scatter_dims_to_operand_dims = Get(scatter.scatter_dims_to_operand_dims());
  a.input_batching_dims = Get(scatter.input_batching_dims());
  a.scatter_indices_batching_dims = Get(scatter.scatter_indices_batching_dims());
  a.index_vector_dim = scatter.index_vector_dim();
  a.indices_are_sorted = p.indices_are_sorted();
  a.unique_indices = p.unique_indices();
  return absl::OkStatus();
}

void Write(Opcode, const SortAttributes& a, Proto& p) {
  p.add_dimensions(a.dimension);
  p.set_is_stable(a.is_stable);
}
absl::Status Read(Opcode, const Proto& p, SortAttributes& a) {
  if (p.dimensions_size() != 1) return absl::InvalidArgumentError("one dimension is wanted");
  a.dimension = p.dimensions(0);
  a.is_stable = p.is_stable();
  return absl::OkStatus();
}

void Write(Opcode, const TopKAttributes& a, Proto& p) {
  p.set_k(a.k);
  p.set_largest(a.largest);
}
absl::Status Read(Opcode, const Proto& p, TopKAttributes& a) {
  a.k = p.k();
  a.largest = p.largest();
  return absl::OkStatus();
}

void Write(Opcode, const FusionAttributes& a, Proto& p) { p.set_fusion_kind(std::string(EnumName(a.kind))); }
absl::Status Read(Opcode, const Proto& p, FusionAttributes& a) {
  if (ParseEnum(p.fusion_kind(), a.kind)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("fusion kind \"", p.fusion_kind(), "\""));
}

void Write(Opcode opcode, const CollectiveAttributes& a, Proto& p) {
  p.set_channel_id(a.channel_id);
  p.set_use_global_device_ids(a.use_global_device_ids);
  for (const IntVector& group : a.replica_groups)
    Put(group, p.mutable_collective_device_list()->add_replica_groups()->mutable_replica_ids());
  for (const auto& [source, target] : a.source_target_pairs) {
    auto& pair = *p.add_source_target_pairs();
    pair.set_source(source);
    pair.set_target(target);
  }
  if (IsRaggedAllToAll(opcode, a)) {  // XLA has an opcode for it
    p.set_opcode("ragged-all-to-all");
    return;
  }
  Put(a.dimensions, p.mutable_dimensions());
  if (opcode == Opcode::kAllToAll && a.dimensions.size() == 2) {
    p.mutable_dimensions()->RemoveLast();
    if (a.dimensions[1] != a.dimensions[0])
      (*p.mutable_frontend_attributes()->mutable_map())[kConcatDimension] = absl::StrCat(a.dimensions[1]);
  }
}

absl::Status ReadIotaGroups(const wire::IotaReplicaGroupList& list, Groups& groups) {
  const IntVector dims = Get(list.iota_reshape_dims());
  IntVector permutation(list.iota_transpose_perm().begin(), list.iota_transpose_perm().end()),
      sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  const absl::StatusOr<int64_t> count = CheckedProduct(dims);
  const int64_t per_group = list.num_devices_per_group();
  bool good = count.ok() && *count <= kMaxIds && sorted.size() == dims.size() && per_group > 0 &&
              list.num_replica_groups() == *count / per_group && *count % per_group == 0;
  for (size_t i = 0; good && i < sorted.size(); ++i)
    good = sorted[i] == static_cast<int64_t>(i) && dims[i] > 0;
  if (!good) return absl::InvalidArgumentError("bad iota replica groups");
  const DimVector strides = RowMajorStrides(dims);
  groups.assign(list.num_replica_groups(), IntVector(per_group));
  for (int64_t i = 0; i < *count; ++i) {
    int64_t id = 0, rest = i;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[permutation[d]])
      id += rest % dims[permutation[d]] * strides[permutation[d]];
    groups[i / per_group][i % per_group] = id;
  }
  return absl::OkStatus();
}

absl::Status Read(Opcode opcode, const Proto& p, CollectiveAttributes& a) {
  a.channel_id = p.channel_id();
  a.use_global_device_ids = p.use_global_device_ids();
  const auto& listed = p.collective_device_list();
  for (const auto& group : listed.replica_groups_size() > 0 ? listed.replica_groups() : p.replica_groups())
    a.replica_groups.push_back(Get(group.replica_ids()));
  if (listed.has_iota_replica_group_list())
    SHOAL_RETURN_IF_ERROR(ReadIotaGroups(listed.iota_replica_group_list(), a.replica_groups));
  for (const auto& pair : p.source_target_pairs())
    a.source_target_pairs.emplace_back(pair.source(), pair.target());
  a.dimensions = Get(p.dimensions());
  if (opcode != Opcode::kAllToAll || a.dimensions.size() != 1) return absl::OkStatus();
  int64_t concat = a.dimensions[0];
  if (auto it = p.frontend_attributes().map().find(kConcatDimension);
      it != p.frontend_attributes().map().end()) {
    if (!absl::SimpleAtoi(it->second, &concat)) return absl::InvalidArgumentError("bad concat dimension");
  }
  a.dimensions.push_back(concat);
  return absl::OkStatus();
}

// Never asked for: the partitioner has consumed it.
void Write(Opcode, const ManualAttributes&, Proto&) {}
absl::Status Read(Opcode, const Proto&, ManualAttributes&) {
  return absl::UnimplementedError("manual-computation");
}

void Write(Opcode, const FftAttributes& a, Proto& p) {
  p.set_fft_type(static_cast<int>(a.type));
  Put(a.length, p.mutable_fft_length());
}
absl::Status Read(Opcode, const Proto& p, FftAttributes& a) {
  a.length = Get(p.fft_length());
  return GetEnum("FFT type", p.fft_type(), 4, a.type);
}

void Write(Opcode, const CholeskyAttributes& a, Proto& p) {
  p.mutable_cholesky_options()->set_lower(a.lower);
}
absl::Status Read(Opcode, const Proto& p, CholeskyAttributes& a) {
  a.lower = p.cholesky_options().lower();
  return absl::OkStatus();
}

void Write(Opcode, const TriangularSolveAttributes& a, Proto& p) {
  auto& solve = *p.mutable_triangular_solve_options();
  solve.set_left_side(a.left_side);
  solve.set_lower(a.lower);
  solve.set_unit_diagonal(a.unit_diagonal);
  solve.set_transpose_a(static_cast<int>(a.transpose_a) + 1);
}
absl::Status Read(Opcode, const Proto& p, TriangularSolveAttributes& a) {
  const auto& solve = p.triangular_solve_options();
  a.left_side = solve.left_side();
  a.lower = solve.lower();
  a.unit_diagonal = solve.unit_diagonal();
  return GetEnum("transpose_a", solve.transpose_a() - 1, 3, a.transpose_a);
}

void Write(Opcode opcode, const CustomCallAttributes& a, Proto& p) {
  if (opcode == Opcode::kInfeed) p.set_infeed_config(a.backend_config);
  if (opcode == Opcode::kOutfeed) p.set_outfeed_config(a.backend_config);
  if (opcode != Opcode::kCustomCall) return;
  p.set_custom_call_target(a.target);
  p.set_backend_config(a.backend_config);
  p.set_custom_call_api_version(static_cast<int>(a.api_version));
  p.set_custom_call_has_side_effect(a.has_side_effect);
  for (const auto& [result, operand] : a.output_operand_aliases) {
    auto& alias = *p.add_output_operand_aliasing();
    if (p.shape().tuple_shapes_size() > 0) alias.add_output_shape_index(result);
    alias.set_operand_index(operand);
  }
}
absl::Status Read(Opcode opcode, const Proto& p, CustomCallAttributes& a) {
  if (opcode == Opcode::kInfeed) a.backend_config = p.infeed_config();
  if (opcode == Opcode::kOutfeed) a.backend_config = p.outfeed_config();
  if (opcode != Opcode::kCustomCall) return absl::OkStatus();
  a.target = p.custom_call_target();
  a.backend_config = p.backend_config();
  a.api_version = p.custom_call_api_version();
  a.has_side_effect = p.custom_call_has_side_effect();
  for (const auto& alias : p.output_operand_aliasing()) {
    if (alias.output_shape_index_size() > 1 || alias.operand_shape_index_size() > 0)
      return absl::UnimplementedError("aliases of parts of operands");
    a.output_operand_aliases.emplace_back(
        alias.output_shape_index_size() > 0 ? alias.output_shape_index(0) : 0, alias.operand_index());
  }
  return absl::OkStatus();
}

}  // namespace

void AttributesToProto(Opcode opcode, const Attributes& attributes, wire::HloInstructionProto& proto) {
  std::visit([&](const auto& a) { Write(opcode, a, proto); }, attributes);
}

absl::Status AttributesFromProto(Opcode opcode, const wire::HloInstructionProto& proto,
                                 Attributes& attributes) {
  return std::visit([&](auto& a) { return Read(opcode, proto, a); }, attributes);
}

}  // namespace shoal
