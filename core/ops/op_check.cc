#include "core/ops/op_check.h"

#include <algorithm>

#include "core/hlo/opcode.h"

namespace shoal {

absl::Status OpError(const OpView& op, absl::string_view label, absl::string_view what) {
  std::string operands = absl::StrJoin(op.operands, ", ", [](std::string* out, const Instruction* operand) {
    absl::StrAppend(out, operand->shape().ToString());
  });
  return absl::InvalidArgumentError(absl::StrCat(OpcodeName(op.opcode), " ", label, ": ", what, ", in ",
                                                 op.wanted != nullptr ? op.wanted->ToString() + " " : "",
                                                 OpcodeName(op.opcode), "(", operands, ")"));
}

absl::Status CheckArrays(const OpView& op) {
  for (int64_t i = 0; i < op.operand_count(); ++i)
    SHOAL_OP_CHECK(op, "I1", op.shape(i).IsArray(), "operand ", i, " is not an array");
  return absl::OkStatus();
}

absl::Status CheckWanted(const OpView& op, bool array) {
  SHOAL_OP_CHECK(op, "H1", op.wanted != nullptr, "the result's shape must be given");
  SHOAL_OP_CHECK(op, "H1", !array || op.wanted->IsArray(), "the result must be an array");
  return absl::OkStatus();
}

absl::Status CheckSignature(const OpView& op, absl::string_view label, int64_t index,
                            absl::Span<const Shape> parameters, const Shape& result) {
  const Computation& body = *op.called[index];
  SHOAL_OP_CHECK(op, label, body.root() != nullptr, "%", body.name(), " has no root");
  SHOAL_OP_CHECK(op, label, body.parameters().size() == parameters.size(), "%", body.name(), " has ",
                 body.parameters().size(), " parameters, not ", parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    SHOAL_OP_CHECK(op, label, body.parameter(i)->shape() == parameters[i], "parameter ", i, " of %",
                   body.name(), " is ", body.parameter(i)->shape().ToString(), ", not ",
                   parameters[i].ToString());
  }
  SHOAL_OP_CHECK(op, label, body.root()->shape() == result, "%", body.name(), " gives ",
                 body.root()->shape().ToString(), ", not ", result.ToString());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ElementType>> ReductionTypes(const OpView& op, absl::string_view label,
                                                        int64_t index, int64_t n) {
  const Computation& body = *op.called[index];
  SHOAL_OP_CHECK(op, label, body.root() != nullptr, "%", body.name(), " has no root");
  const Shape& result = body.root()->shape();
  std::vector<Shape> scalars;
  if (result.IsTuple()) scalars.assign(result.elements().begin(), result.elements().end());
  if (result.IsArray()) scalars.push_back(result);
  SHOAL_OP_CHECK(op, label, static_cast<int64_t>(scalars.size()) == n, "%", body.name(), " gives ",
                 result.ToString(), ", not ", n, " values");
  std::vector<ElementType> types;
  for (const Shape& scalar : scalars) {
    SHOAL_OP_CHECK(op, label, scalar.IsScalar(), "%", body.name(), " gives ", result.ToString(),
                   ", not scalars");
    types.push_back(scalar.element_type());
  }
  std::vector<Shape> parameters = scalars;
  parameters.insert(parameters.end(), scalars.begin(), scalars.end());
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, label, index, parameters, result));
  return types;
}

bool IsUnique(absl::Span<const int64_t> values) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

bool InRange(absl::Span<const int64_t> values, int64_t end) {
  return std::all_of(values.begin(), values.end(), [end](int64_t v) { return v >= 0 && v < end; });
}

IntVector Concatenated(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  IntVector both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

bool Contains(absl::Span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string ListText(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

Shape OneOrTuple(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0]) : Shape::Tuple(std::move(shapes));
}

}  // namespace shoal
