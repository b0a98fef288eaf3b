#include "sharding/rules/rule.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/ops/reduction.h"

namespace shoal {
namespace {

std::string FactorName(int factor) {
  std::string name(1, static_cast<char>('i' + factor % 17));
  return factor < 17 ? name : absl::StrCat(name, "_", factor / 17);
}

std::string TensorText(const TensorFactors& tensor) {
  return absl::StrCat("[",
                      absl::StrJoin(tensor, ",",
                                    [](std::string* out, const FactorList& dim) {
                                      for (int factor : dim) absl::StrAppend(out, FactorName(factor));
                                    }),
                      "]");
}

std::string TensorsText(const std::vector<TensorFactors>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorFactors& tensor) {
    absl::StrAppend(out, TensorText(tensor));
  });
}

void AppendLeaves(const Shape& shape, std::vector<Shape>& leaves) {
  for (const Shape& leaf : shape.Leaves()) leaves.push_back(leaf);
}

void AddTo(const std::vector<Shape>& shapes, absl::Span<const int64_t> dims, int factor,
           std::vector<TensorFactors>& tensors) {
  for (size_t i = 0; i < dims.size() && i < shapes.size(); ++i) {
    if (dims[i] >= 0 && dims[i] < shapes[i].rank()) tensors[i][dims[i]].push_back(factor);
  }
}

int64_t Largest(const std::vector<Shape>& shapes, absl::Span<const int64_t> dims) {
  int64_t size = 0;
  for (size_t i = 0; i < dims.size() && i < shapes.size(); ++i) {
    if (dims[i] >= 0 && dims[i] < shapes[i].rank()) size = std::max(size, shapes[i].dim(dims[i]));
  }
  return size;
}

}  // namespace

std::string ToString(const FactorRule& rule) {
  static constexpr const char* kKinds[] = {"", " reduction", " permutation", " need-replication"};
  std::string text = absl::StrCat("(", TensorsText(rule.operands), ") -> ", TensorsText(rule.results), " {");
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    absl::StrAppend(&text, f ? ", " : "", FactorName(static_cast<int>(f)), "=", rule.factors[f].size,
                    kKinds[static_cast<int>(rule.factors[f].kind)]);
  }
  return text + "}";
}

Combiner CombinerOf(const Computation& region) {
  const std::optional<Opcode> opcode = region.root() == nullptr ? std::nullopt : ReductionOpcode(region);
  if (!opcode) return Combiner::kRegion;
  switch (*opcode) {
    case Opcode::kAdd:
      return Combiner::kAdd;
    case Opcode::kMultiply:
      return Combiner::kMultiply;
    case Opcode::kMinimum:
      return Combiner::kMinimum;
    case Opcode::kMaximum:
      return Combiner::kMaximum;
    case Opcode::kAnd:
      return Combiner::kAnd;
    case Opcode::kOr:
      return Combiner::kOr;
    case Opcode::kXor:
      return Combiner::kXor;
    default:
      return Combiner::kRegion;
  }
}

Opcode OpcodeOf(Combiner combiner) {
  switch (combiner) {
    case Combiner::kMultiply:
      return Opcode::kMultiply;
    case Combiner::kMinimum:
      return Opcode::kMinimum;
    case Combiner::kMaximum:
      return Opcode::kMaximum;
    case Combiner::kAnd:
      return Opcode::kAnd;
    case Combiner::kOr:
      return Opcode::kOr;
    case Combiner::kXor:
      return Opcode::kXor;
    default:
      return Opcode::kAdd;
  }
}

RuleBuilder::RuleBuilder(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands()) AppendLeaves(operand->shape(), operand_shapes_);
  AppendLeaves(instruction.shape(), result_shapes_);
  for (const Shape& shape : operand_shapes_) rule_.operands.emplace_back(shape.rank());
  for (const Shape& shape : result_shapes_) rule_.results.emplace_back(shape.rank());
}

RuleBuilder& RuleBuilder::Add(absl::Span<const int64_t> operand_dims, absl::Span<const int64_t> result_dims,
                              FactorKind kind) {
  const int64_t size = std::max(Largest(operand_shapes_, operand_dims), Largest(result_shapes_, result_dims));
  return AddPart(size, operand_dims, result_dims, kind);
}

RuleBuilder& RuleBuilder::AddPart(int64_t size, absl::Span<const int64_t> operand_dims,
                                  absl::Span<const int64_t> result_dims, FactorKind kind) {
  const int factor = static_cast<int>(rule_.factors.size());
  rule_.factors.push_back(Factor{size, kind});
  AddTo(operand_shapes_, operand_dims, factor, rule_.operands);
  AddTo(result_shapes_, result_dims, factor, rule_.results);
  return *this;
}

RuleBuilder& RuleBuilder::AddPointwise(int64_t rank, absl::Span<const int64_t> special) {
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(special.begin(), special.end(), d) != special.end()) continue;
    std::vector<int64_t> operand_dims, result_dims;
    for (const Shape& shape : operand_shapes_) operand_dims.push_back(shape.rank() == rank ? d : -1);
    for (const Shape& shape : result_shapes_) result_dims.push_back(shape.rank() == rank ? d : -1);
    Add(operand_dims, result_dims);
  }
  return *this;
}

RuleBuilder& RuleBuilder::SetCombiner(Combiner combiner) {
  rule_.combiner = combiner;
  return *this;
}

FactorRule RuleBuilder::Build() {
  auto complete = [&](const std::vector<Shape>& shapes, std::vector<TensorFactors>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (size_t d = 0; d < tensors[i].size(); ++d) {
        if (!tensors[i][d].empty()) continue;
        tensors[i][d].push_back(static_cast<int>(rule_.factors.size()));
        rule_.factors.push_back(Factor{shapes[i].dim(static_cast<int64_t>(d)), FactorKind::kNeedReplication});
      }
    }
  };
  complete(operand_shapes_, rule_.operands);
  complete(result_shapes_, rule_.results);
  return std::move(rule_);
}

FactorRule ReplicatedRule(const Instruction& instruction) { return RuleBuilder(instruction).Build(); }

}  // namespace shoal
