#include "plugin/compile/memory_layouts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace shoal {
namespace {

IntVector Inverse(const IntVector& permutation) {
  IntVector inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

IntVector Reversed(const IntVector& list) { return IntVector(list.rbegin(), list.rend()); }

Shape Permuted(const Shape& shape, const IntVector& permutation) {
  DimVector dims;
  for (int64_t dim : permutation) dims.push_back(shape.dim(dim));
  return shape.WithDims(dims);
}

absl::Status CheckRank(absl::string_view what, size_t i, const Shape& shape,
                       const IntVector& minor_to_major) {
  if (minor_to_major.empty()) return absl::OkStatus();
  if (shape.IsArray() && shape.rank() == static_cast<int64_t>(minor_to_major.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the layout {", absl::StrJoin(minor_to_major, ","), "} of ",
                                                 what, " ", i, ", which is ", shape.ToString()));
}

void LayParameter(Computation& entry, Instruction* parameter, const IntVector& minor_to_major) {
  const Shape logical = parameter->shape();
  const IntVector order = Reversed(minor_to_major);
  Instruction* transpose =
      entry.Add(Opcode::kTranspose, logical, {parameter}, DimensionsAttributes{Inverse(order)});
  parameter->ReplaceAllUsesWith(transpose);
  transpose->ReplaceOperand(0, parameter);
  parameter->set_shape(Permuted(logical, order));
}

Instruction* LayResult(Computation& entry, Instruction* value, const IntVector& minor_to_major) {
  const IntVector order = Reversed(minor_to_major);
  return entry.Add(Opcode::kTranspose, Permuted(value->shape(), order), {value}, DimensionsAttributes{order});
}

// The layout in which a transpose moves nothing.
IntVector LayoutWithoutMoving(const Instruction& value) {
  if (value.opcode() != Opcode::kTranspose) return {};
  const absl::Span<const int64_t> dimensions = value.dimensions();
  IntVector layout = Reversed(Inverse(IntVector(dimensions.begin(), dimensions.end())));
  if (std::is_sorted(layout.rbegin(), layout.rend())) layout.clear();
  return layout;
}

absl::Status LayResults(Computation& entry, const std::vector<EntryLayout>& wanted,
                        std::vector<IntVector>& layouts) {
  Instruction* root = entry.root();
  const bool is_tuple = root->shape().IsTuple();
  const size_t count = is_tuple ? root->shape().elements().size() : 1;
  std::vector<Instruction*> values;
  layouts.resize(count);
  bool changed = false;
  for (size_t i = 0; i < count; ++i) {
    Instruction* value = root;
    if (is_tuple) {
      value = root->opcode() == Opcode::kTuple ? root->operand(static_cast<int64_t>(i))
                                               : entry.AddGetTupleElement(root, static_cast<int64_t>(i));
    }
    if (i < wanted.size()) {
      layouts[i] = wanted[i].automatic ? LayoutWithoutMoving(*value) : wanted[i].minor_to_major;
      SHOAL_RETURN_IF_ERROR(CheckRank("result", i, value->shape(), layouts[i]));
    }
    changed |= !layouts[i].empty();
    values.push_back(layouts[i].empty() ? value : LayResult(entry, value, layouts[i]));
  }
  if (changed) entry.set_root(is_tuple ? entry.AddTuple(values) : values[0]);
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeLayouts(absl::string_view what, absl::Span<const WantedArray> asked,
                         absl::Span<const Shape> arrays, std::vector<EntryLayout>& wanted) {
  if (asked.empty()) return absl::OkStatus();
  if (asked.size() != arrays.size()) {
    return absl::InvalidArgumentError(absl::StrCat("compile options: layouts of ", asked.size(), " ", what,
                                                   "s, and the program has ", arrays.size()));
  }
  wanted.resize(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (asked[i].shape != arrays[i]) {
      return absl::InvalidArgumentError(absl::StrCat("compile options: the layout of ", what, " ", i,
                                                     " is for ", asked[i].shape.ToString(),
                                                     ", and in the program it is ", arrays[i].ToString()));
    }
    if (asked[i].minor_to_major.empty()) continue;
    const IntVector layout(asked[i].minor_to_major.begin(), asked[i].minor_to_major.end());
    wanted[i] = {false, std::is_sorted(layout.rbegin(), layout.rend()) ? IntVector() : layout};
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryLayouts> ApplyLayouts(Module& module, const EntryLayouts& wanted) {
  MemoryLayouts layouts;
  Computation& entry = *module.entry();
  // Results first: a parameter that is a result has its logical shape until then.
  if (!wanted.results.empty()) SHOAL_RETURN_IF_ERROR(LayResults(entry, wanted.results, layouts.results));
  if (wanted.parameters.empty()) return layouts;
  layouts.parameters.resize(entry.parameters().size());
  for (size_t i = 0; i < layouts.parameters.size() && i < wanted.parameters.size(); ++i) {
    Instruction* parameter = entry.parameter(static_cast<int64_t>(i));
    const IntVector& layout = wanted.parameters[i].minor_to_major;
    SHOAL_RETURN_IF_ERROR(CheckRank("argument", i, parameter->shape(), layout));
    if (layout.empty()) continue;
    layouts.parameters[i] = layout;
    LayParameter(entry, parameter, layout);
  }
  if (!entry.SortTopologically()) return absl::InternalError("a cycle after laying out parameters");
  return layouts;
}

}  // namespace shoal
