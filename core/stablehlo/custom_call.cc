#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/gspmd_manual.h"
#include "core/stablehlo/import_sharding.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/ragged.h"

namespace shoal {
namespace {

// The words of an enumeration in bytecode, or a number in text.
absl::StatusOr<int64_t> ApiVersion(const OpImporter& c) {
  const MlirAttribute* version = c.Find("api_version");
  if (version == nullptr) return 1;
  if (version->kind == MlirAttributeKind::kInteger) return version->integer;
  constexpr absl::string_view kWords[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                          "API_VERSION_STATUS_RETURNING",
                                          "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  for (size_t i = 0; i < std::size(kWords); ++i) {
    if (version->text == kWords[i]) return static_cast<int64_t>(i);
  }
  return c.Error("an API version that StableHLO does not have");
}

// A dictionary of the typed FFI stands as MLIR text; older programs keep it apart.
std::string BackendConfig(const OpImporter& c) {
  const MlirAttribute* config = c.Find("mhlo.backend_config");
  if (config == nullptr) config = c.Find("backend_config");
  if (config == nullptr) return "";
  return config->kind == MlirAttributeKind::kString ? std::string(config->text) : ToString(*config);
}

absl::StatusOr<Pairs> OutputAliases(const OpImporter& c) {
  Pairs pairs;
  const MlirAttribute* list = c.Find("output_operand_aliases");
  if (list == nullptr) return pairs;
  for (const MlirAttribute* alias : list->elements) {
    const MlirAttribute* outputs = alias->Find("output_tuple_indices");
    const MlirAttribute* operand = alias->Find("operand_index");
    const MlirAttribute* inner = alias->Find("operand_tuple_indices");
    if (outputs == nullptr || operand == nullptr) return c.Error("an alias without its indices");
    SHOAL_ASSIGN_OR_RETURN(IntVector output, IntsOf(*outputs));
    if (output.size() > 1 || (inner != nullptr && !inner->ints.empty()))
      return c.NotSupported("an alias inside a tuple");
    pairs.push_back({output.empty() ? 0 : output[0], operand->integer});
  }
  return pairs;
}

// The layouts of operands or results, minor to major; empty if all are row-major.
absl::StatusOr<Groups> Layouts(const OpImporter& c, absl::string_view name, size_t count) {
  const MlirAttribute* list = c.Find(name);
  Groups layouts;
  if (list == nullptr || list->elements.empty()) return layouts;
  if (list->elements.size() != count)
    return c.Error(absl::StrCat(name, " has ", list->elements.size(), " entries"));
  bool row_major = true;
  for (const MlirAttribute* element : list->elements) {
    SHOAL_ASSIGN_OR_RETURN(layouts.emplace_back(), IntsOf(*element));
    const IntVector& layout = layouts.back();
    std::vector<bool> seen(layout.size());
    for (size_t i = 0; i < layout.size(); ++i) {
      const int64_t dim = layout[i];
      if (dim < 0 || dim >= static_cast<int64_t>(layout.size()) || seen[dim])
        return c.Error("a layout that is no permutation");
      seen[dim] = true;
      row_major = row_major && dim == static_cast<int64_t>(layout.size() - 1 - i);
    }
  }
  if (row_major) layouts.clear();
  return layouts;
}

// `value`, or its transpose whose row-major bytes are `value` in this layout.
absl::StatusOr<Instruction*> ToLayout(OpImporter& c, Instruction* value, const IntVector& layout) {
  if (!value->shape().IsArray() || value->shape().rank() != static_cast<int64_t>(layout.size())) {
    return c.Error(absl::StrCat("a layout of rank ", layout.size(), " for ", value->shape().ToString()));
  }
  const IntVector permutation(layout.rbegin(), layout.rend());
  if (std::is_sorted(permutation.begin(), permutation.end())) return value;
  DimVector dims;
  for (int64_t dim : permutation) dims.push_back(value->shape().dim(dim));
  return c.Add(Opcode::kTranspose, value->shape().WithDims(dims), {value}, DimensionsAttributes{permutation});
}

// The shape of a result as the callee's bytes stand in memory.
absl::StatusOr<Shape> PhysicalShape(const OpImporter& c, const Shape& shape, const IntVector& layout) {
  if (!shape.IsArray() || shape.rank() != static_cast<int64_t>(layout.size())) {
    return c.Error(absl::StrCat("a layout of rank ", layout.size(), " for ", shape.ToString()));
  }
  DimVector dims;
  for (size_t i = layout.size(); i-- > 0;) dims.push_back(shape.dim(layout[i]));
  return shape.WithDims(dims);
}

Instruction* FromLayout(OpImporter& c, Instruction* value, const Shape& shape, const IntVector& layout) {
  const IntVector order(layout.rbegin(), layout.rend());
  if (std::is_sorted(order.begin(), order.end())) return value;
  IntVector inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return c.Add(Opcode::kTranspose, shape, {value}, DimensionsAttributes{std::move(inverse)});
}

// The results, or the elements of the one that is a tuple.
absl::StatusOr<std::vector<Shape>> ResultArrays(const OpImporter& c) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.op().results.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape(i));
    shapes.push_back(std::move(shape));
  }
  if (shapes.size() != 1 || !shapes[0].IsTuple()) return shapes;
  return std::vector<Shape>(shapes[0].elements().begin(), shapes[0].elements().end());
}

// A call whose operands or results are not row-major in memory: transposes around it, so that inside HLO all
// are.
absl::Status EmitWithLayouts(OpImporter& c, CustomCallAttributes attributes,
                             absl::Span<Computation* const> called) {
  std::vector<Instruction*> operands(c.operands().begin(), c.operands().end());
  for (size_t i = 0; i < operands.size() && !attributes.operand_layouts.empty(); ++i) {
    if (operands[i]->shape().IsToken()) continue;
    SHOAL_ASSIGN_OR_RETURN(operands[i], ToLayout(c, operands[i], attributes.operand_layouts[i]));
  }
  const Groups layouts = attributes.result_layouts;
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Shape> logical, ResultArrays(c));
  std::vector<Shape> shapes = logical;
  for (size_t i = 0; i < shapes.size() && !layouts.empty(); ++i) {
    if (shapes[i].IsToken()) continue;
    SHOAL_ASSIGN_OR_RETURN(shapes[i], PhysicalShape(c, shapes[i], layouts[i]));
  }
  const bool one = c.op().results.size() == 1, gives_tuple = one && c.ResultShape(0)->IsTuple();
  Shape shape = one && !gives_tuple ? shapes[0] : Shape::Tuple(shapes);
  Instruction* call = c.Add(Opcode::kCustomCall, std::move(shape), operands, std::move(attributes), called);
  if (layouts.empty()) return c.Finish(call, !one);
  std::vector<Instruction*> results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    results.push_back(
        one && !gives_tuple ? call : c.computation().AddGetTupleElement(call, static_cast<int64_t>(i)));
    if (!logical[i].IsToken()) results[i] = FromLayout(c, results[i], logical[i], layouts[i]);
  }
  if (gives_tuple) return c.Alias(c.computation().AddTuple(results));
  for (size_t i = 0; i < results.size(); ++i) c.region().Bind(c.op().results[i], results[i]);
  return absl::OkStatus();
}

absl::Status ImportTopKCall(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 2));
  const MlirAttribute* attributes = c.Find("mhlo.attributes");
  const MlirAttribute* k = attributes == nullptr ? nullptr : attributes->Find("k");
  if (k == nullptr || k->kind != MlirAttributeKind::kInteger) return c.Error("the attribute k is missing");
  const MlirAttribute* largest = attributes->Find("largest");
  return c.Emit(Opcode::kTopK, c.operands(),
                TopKAttributes{k->integer, largest == nullptr || largest->integer != 0});
}

// JAX's approx_max_k: operands and as many initial values, and a comparator as a sort has it. Exact here:
// sorted, and as much of the front as the result holds.
absl::Status ImportApproxTopK(OpImporter& c) {
  const size_t n = c.operands().size() / 2;
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n, static_cast<int>(n)));
  const MlirAttribute* config = c.Find("mhlo.backend_config");
  const MlirAttribute* dimension = config == nullptr ? nullptr : config->Find("reduction_dim");
  const MlirAttribute* called = c.Find("called_computations");
  if (n == 0 || dimension == nullptr || called == nullptr || called->elements.size() != 1)
    return c.Error("reduction_dim or the comparator is missing");
  SHOAL_ASSIGN_OR_RETURN(Computation * comparator, c.importer().Function(called->elements[0]->text));
  HloBuilder b(&c.computation());
  Instruction* sorted =
      b.Sort(c.operands().subspan(0, n), dimension->integer, /*is_stable=*/true, comparator);
  SHOAL_RETURN_IF_ERROR(b.status());
  std::vector<Instruction*> results;
  for (size_t i = 0; i < n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape(i));
    Instruction* all = n == 1 ? sorted : b.GetTupleElement(sorted, static_cast<int64_t>(i));
    if (!shape.IsArray() || shape.rank() != all->shape().rank()) return c.Error("a result of another rank");
    const int64_t wanted = shape.dim(dimension->integer);
    results.push_back(b.SliceInDim(all, dimension->integer, 0, wanted));
    if (results.back()->shape() != shape) return c.Error(absl::StrCat("the result is ", shape.ToString()));
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  return n == 1 ? c.Alias(results[0]) : c.Finish(b.Tuple(results), /*is_tuple=*/true);
}

// A rule for arrays as the callee sees them: dimension j of one is dimension layout[rank-1-j] here.
absl::Status PermuteDims(const OpImporter& c, const Groups& layouts, std::vector<Groups>& arrays) {
  if (layouts.empty()) return absl::OkStatus();
  if (layouts.size() != arrays.size()) return c.Error("the sharding rule is for another number of arrays");
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].size() != layouts[i].size()) return c.Error("the sharding rule is for another rank");
    Groups permuted;
    for (auto dim = layouts[i].rbegin(); dim != layouts[i].rend(); ++dim) {
      permuted.push_back(std::move(arrays[i][*dim]));
    }
    arrays[i] = std::move(permuted);
  }
  return absl::OkStatus();
}

// What the two lists say together, and what a token may have.
absl::Status CheckLayouts(const OpImporter& c) {
  const MlirAttribute *operands = c.Find("operand_layouts"), *results = c.Find("result_layouts");
  if ((operands == nullptr) != (results == nullptr))
    return c.Error("C1", "layouts of operands or of results alone: both are given, or none");
  for (size_t i = 0; operands != nullptr && i < std::min(operands->elements.size(), c.operands().size());
       ++i) {
    const absl::StatusOr<IntVector> layout = IntsOf(*operands->elements[i]);
    if (layout.ok() && !layout->empty() && c.operand_shape(i).IsToken())
      return c.Error("C1", absl::StrCat("operand ", i, " is a token and has a layout"));
  }
  return absl::OkStatus();
}

// A dictionary for a typed handler, a string for the others.
absl::Status CheckConfig(const OpImporter& c, int64_t api_version) {
  const MlirAttribute* config = c.Find("backend_config");
  if (config == nullptr) return absl::OkStatus();
  constexpr int64_t kTyped = 4;
  if (api_version == kTyped && config->kind == MlirAttributeKind::kString && !config->text.empty())
    return c.Error("the backend_config of API version 4 is a string instead of a dictionary");
  if (api_version != kTyped && config->kind == MlirAttributeKind::kDictionary)
    return c.Error(absl::StrCat("the backend_config of API version ", api_version,
                                " is a dictionary instead of a string"));
  return absl::OkStatus();
}

// Of a target that is known to be batched (jax.ffi.register_ffi_target_as_batch_partitionable), JAX says how
// many leading dimensions all arrays share; matrices of a batch are independent.
absl::StatusOr<std::optional<UserShardingRule>> BatchRule(const OpImporter& c) {
  const MlirAttribute* frontend = c.Find("mhlo.frontend_attributes");
  const MlirAttribute* count = frontend == nullptr ? nullptr : frontend->Find("num_batch_dims");
  int64_t batch = 0;
  if (count == nullptr || !absl::SimpleAtoi(count->text, &batch) || batch < 1) return std::nullopt;
  UserShardingRule rule;
  const auto add = [&](const Shape& shape, std::vector<Groups>& arrays) {
    Groups& factors = arrays.emplace_back();
    if (!shape.IsArray() || shape.rank() < batch) return false;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const bool shared = d<batch&& static_cast<int64_t>(rule.factor_sizes.size())> d;
      if (shared && rule.factor_sizes[d] != shape.dim(d)) return false;
      const auto own = static_cast<int64_t>(rule.factor_sizes.size());
      factors.push_back({shared ? d : own});
      if (shared) continue;
      rule.factor_sizes.push_back(shape.dim(d));
      if (d >= batch) rule.need_replication.push_back(own);
    }
    return true;
  };
  for (size_t i = 0; i < c.operands().size(); ++i) {
    if (!add(c.operand_shape(i), rule.operands)) return std::nullopt;
  }
  for (size_t i = 0; i < c.op().results.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Shape shape, c.ResultShape(i));
    if (!add(shape, rule.results)) return std::nullopt;
  }
  return rule;
}

absl::Status ReadRule(const OpImporter& c, CustomCallAttributes& attributes) {
  std::optional<UserShardingRule> rule;
  if (const MlirAttribute* record = c.Find("sdy.sharding_rule")) {
    SHOAL_ASSIGN_OR_RETURN(rule, UserRuleOf(*record));
  } else {
    SHOAL_ASSIGN_OR_RETURN(rule, BatchRule(c));
  }
  if (!rule.has_value()) return absl::OkStatus();
  SHOAL_RETURN_IF_ERROR(PermuteDims(c, attributes.operand_layouts, rule->operands));
  SHOAL_RETURN_IF_ERROR(PermuteDims(c, attributes.result_layouts, rule->results));
  AttachRule(*rule, attributes);
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportCustomCall(OpImporter& c) {
  CustomCallAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(absl::string_view target, c.Text("call_target_name"));
  if (target == "Sharding") return ImportGspmdConstraint(c, BackendConfig(c));
  if (target == kFullToShardTarget || target == kShardToFullTarget)
    return ImportGspmdBorder(c, BackendConfig(c));
  // The round trip of sdy through GSPMD marks a result so; the sharding stands on @main's result as well.
  if (target == "xla.sdy.FuncResultSharding") return c.Alias(c.operand(0));
  if (target == "ragged_all_to_all") return ImportRaggedAllToAll(c);
  if (target == "mhlo.topk") return ImportTopKCall(c);
  if (target == "ApproxTopK") return ImportApproxTopK(c);
  // Memory kinds stand on the results of @main; inside a program all memory is the same.
  const bool places =
      target == "annotate_device_placement" || target == "MoveToHost" || target == "MoveToDevice";
  if (places && c.operands().size() == 1) return ImportIdentity(c);
  // So do layouts.
  if (target == "LayoutConstraint" && c.operands().size() == 1) return ImportIdentity(c);
  // JAX's wish that the second operand be computed after the first. No value depends on it, and the order is
  // the scheduler's.
  if (target == "control_dep" && c.op().results.empty()) return absl::OkStatus();
  attributes.target = std::string(target);
  attributes.backend_config = BackendConfig(c);
  SHOAL_ASSIGN_OR_RETURN(attributes.api_version, ApiVersion(c));
  SHOAL_RETURN_IF_ERROR(CheckLayouts(c));
  SHOAL_RETURN_IF_ERROR(CheckConfig(c, attributes.api_version));
  SHOAL_ASSIGN_OR_RETURN(attributes.has_side_effect, c.BoolOr("has_side_effect", false));
  SHOAL_ASSIGN_OR_RETURN(attributes.output_operand_aliases, OutputAliases(c));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Shape> results, ResultArrays(c));
  SHOAL_ASSIGN_OR_RETURN(attributes.operand_layouts, Layouts(c, "operand_layouts", c.operands().size()));
  SHOAL_ASSIGN_OR_RETURN(attributes.result_layouts, Layouts(c, "result_layouts", results.size()));
  if (c.module().config().num_partitions > 1) SHOAL_RETURN_IF_ERROR(ReadRule(c, attributes));
  std::vector<Computation*> called;
  if (const MlirAttribute* list = c.Find("called_computations")) {
    for (const MlirAttribute* symbol : list->elements) {
      SHOAL_ASSIGN_OR_RETURN(called.emplace_back(), c.importer().Function(symbol->text));
    }
  }
  return EmitWithLayouts(c, std::move(attributes), called);
}

}  // namespace shoal
