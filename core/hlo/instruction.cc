#include "core/hlo/instruction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shoal {

void Instruction::AddUser(Instruction* user) {
  if (std::find(users_.begin(), users_.end(), user) == users_.end()) users_.push_back(user);
}

void Instruction::RemoveUser(Instruction* user) {
  // Each user stands there once; what goes is mostly the oldest of thousands.
  if (const auto at = std::find(users_.begin(), users_.end(), user); at != users_.end()) users_.erase(at);
}

void Instruction::ReplaceOperand(int64_t i, Instruction* with) {
  Instruction* old = operands_[i];
  if (old == with) return;
  operands_[i] = with;
  if (std::find(operands_.begin(), operands_.end(), old) == operands_.end()) old->RemoveUser(this);
  with->AddUser(this);
}

void Instruction::ReplaceAllUsesWith(Instruction* with) {
  if (with == this) return;
  const std::vector<Instruction*> users = users_;
  for (Instruction* user : users) {
    if (user == with) continue;
    // One walk over the operands, not three: a program's result may have ten thousand.
    std::replace(user->operands_.begin(), user->operands_.end(), this, with);
    with->AddUser(user);
  }
  users_.erase(std::remove_if(users_.begin(), users_.end(), [&](Instruction* user) { return user != with; }),
               users_.end());
  if (parent_->root() == this) parent_->set_root(with);
}

std::string Instruction::ToString() const {
  return absl::StrCat("%", name_, " = ", shape_.ToString(), " ", OpcodeName(opcode_), "(",
                      absl::StrJoin(operands_, ", ",
                                    [](std::string* out, const Instruction* operand) {
                                      absl::StrAppend(out, operand->shape().ToString(), " %",
                                                      operand->name());
                                    }),
                      ")");
}

int64_t FirstLeaf(const Shape& tuple, int64_t index) {
  int64_t leaf = 0;
  for (int64_t i = 0; i < index; ++i) {
    const Shape& element = tuple.element(i);
    leaf += element.IsTuple() ? static_cast<int64_t>(element.Leaves().size()) : 1;
  }
  return leaf;
}

}  // namespace shoal
