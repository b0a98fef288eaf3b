#include "core/passes/match.h"

#include <algorithm>
#include <cstring>

#include "core/ops/builder.h"

namespace shoal {

const Literal* SplatOf(const Instruction* instruction) {
  if (instruction->opcode() == Opcode::kBroadcast && instruction->operand(0)->shape().IsScalar())
    instruction = instruction->operand(0);
  if (instruction->opcode() != Opcode::kConstant) return nullptr;
  const Literal& literal = instruction->literal();
  return literal.size_bytes() > 0 && literal.IsSplat() ? &literal : nullptr;
}

bool IsSplatOf(const Instruction* instruction, double value) {
  const Literal* literal = SplatOf(instruction);
  if (literal == nullptr) return false;
  const ElementType type = literal->shape().element_type();
  if (IsFloat(type)) return literal->AsDouble(0) == value;
  return std::memcmp(literal->data(), ScalarLiteral(type, value).data(), ByteWidth(type)) == 0;
}

std::optional<int64_t> ScalarInt(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kConstant || !instruction->shape().IsScalar()) return std::nullopt;
  const ElementType type = instruction->shape().element_type();
  if (!IsInteger(type) && type != ElementType::kPred) return std::nullopt;
  return instruction->literal().AsInt(0);
}

IntVector WideDimensions(absl::Span<const int64_t> dims) {
  IntVector wide;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) wide.push_back(static_cast<int64_t>(d));
  }
  return wide;
}

bool SameWideSizes(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const IntVector wide_a = WideDimensions(a), wide_b = WideDimensions(b);
  return wide_a.size() == wide_b.size() && std::equal(wide_a.begin(), wide_a.end(), wide_b.begin(),
                                                      [&](int64_t x, int64_t y) { return a[x] == b[y]; });
}

bool IsIdentityPermutation(absl::Span<const int64_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace shoal
