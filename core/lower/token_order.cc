#include "core/lower/token_order.h"

#include <algorithm>

namespace shoal {
namespace {

// Blocks that no run has.
constexpr int32_t kTokenBase = -1, kSendBase = -2, kReceiveBase = -3;

bool HasToken(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsToken();
  return std::any_of(shape.elements().begin(), shape.elements().end(), HasToken);
}

// Of the values that stand for the leaves of `shape`, those of tokens.
void AppendTokens(const Shape& shape, absl::Span<const ValueId> values, std::vector<ValueId>& tokens) {
  if (!HasToken(shape)) return;
  const std::vector<Shape> leaves = shape.Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].IsToken()) tokens.push_back(values[i]);
  }
}

}  // namespace

std::vector<ValueId> TokenOrder::OperandTokens(const Instruction& instruction) const {
  std::vector<ValueId> tokens;
  for (const Instruction* operand : instruction.operands())
    AppendTokens(operand->shape(), live_.ValuesOf(operand), tokens);
  return tokens;
}

std::vector<ValueId> TokenOrder::ResultTokens(const Instruction& instruction) const {
  std::vector<ValueId> tokens;
  AppendTokens(instruction.shape(), live_.ValuesOf(&instruction), tokens);
  return tokens;
}

std::vector<SliceUse> TokenOrder::Of(const Instruction& instruction) const {
  std::vector<SliceUse> uses;
  const std::vector<ValueId> taken = OperandTokens(instruction);
  const auto read = [&](ValueId token) { uses.push_back({{kTokenBase, token.value(), 1}, false}); };
  for (ValueId token : taken) {
    const auto forwarded = sources_.find(token);
    if (forwarded == sources_.end()) {
      read(token);
    } else {
      for (ValueId source : forwarded->second) read(source);
    }
  }
  for (ValueId token : ResultTokens(instruction)) {
    // What a loop or branch hands through was made before it.
    if (std::find(taken.begin(), taken.end(), token) == taken.end())
      uses.push_back({{kTokenBase, token.value(), 1}, true});
  }
  return uses;
}

std::vector<SliceUse> TokenOrder::OfTransfer(const Instruction& transfer, int64_t id, bool sends) const {
  std::vector<SliceUse> uses = Of(transfer);
  uses.push_back({{sends ? kSendBase : kReceiveBase, id, 1}, true});
  return uses;
}

void TokenOrder::Forward(const Instruction& instruction) {
  std::vector<ValueId> sources;
  const std::vector<ValueId> taken = OperandTokens(instruction);
  for (ValueId token : taken) {
    const auto forwarded = sources_.find(token);
    if (forwarded == sources_.end()) {
      sources.push_back(token);
    } else {
      sources.insert(sources.end(), forwarded->second.begin(), forwarded->second.end());
    }
  }
  for (ValueId token : ResultTokens(instruction)) {
    if (std::find(taken.begin(), taken.end(), token) == taken.end()) sources_[token] = sources;
  }
}

}  // namespace shoal
