#include <algorithm>

#include "core/hlo/instruction.h"

namespace shoal {

std::vector<Instruction*> Computation::instructions() const {
  std::vector<Instruction*> all;
  all.reserve(slots_.size());
  for (const auto& slot : slots_) {
    if (slot) all.push_back(slot.get());
  }
  return all;
}

Instruction* Computation::Keep(std::unique_ptr<Instruction> instruction, absl::string_view name) {
  Instruction* kept = instruction.get();
  kept->parent_ = this;
  kept->id_ = module_->next_id_++;
  kept->name_ = module_->UniqueName(name.empty() ? OpcodeName(kept->opcode_) : name);
  kept->slot_ = static_cast<int64_t>(slots_.size());
  slots_.push_back(std::move(instruction));
  for (Instruction* operand : kept->operands_) operand->AddUser(kept);
  return kept;
}

Instruction* Computation::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                              Attributes attributes, absl::Span<Computation* const> called,
                              absl::string_view name) {
  std::unique_ptr<Instruction> instruction(new Instruction());
  instruction->opcode_ = opcode;
  instruction->shape_ = std::move(shape);
  instruction->operands_.assign(operands.begin(), operands.end());
  instruction->called_.assign(called.begin(), called.end());
  instruction->attributes_ = std::move(attributes);
  return Keep(std::move(instruction), name);
}

Instruction* Computation::AddParameter(int64_t number, Shape shape, absl::string_view name) {
  Instruction* parameter =
      Add(Opcode::kParameter, std::move(shape), {}, ParameterAttributes{number}, {}, name);
  if (static_cast<int64_t>(parameters_.size()) <= number) parameters_.resize(number + 1);
  parameters_[number] = parameter;
  return parameter;
}

Instruction* Computation::AddConstant(Literal value) {
  Shape shape = value.shape();
  return Add(Opcode::kConstant, std::move(shape), {}, ConstantAttributes{std::move(value)});
}

Instruction* Computation::AddTuple(absl::Span<Instruction* const> elements) {
  std::vector<Shape> shapes;
  for (const Instruction* element : elements) shapes.push_back(element->shape());
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), elements);
}

Instruction* Computation::AddGetTupleElement(Instruction* tuple, int64_t index) {
  Instruction* element =
      Add(Opcode::kGetTupleElement, tuple->shape().element(index), {tuple}, TupleIndexAttributes{index});
  element->set_op_name(tuple->op_name());
  return element;
}

Instruction* Computation::AddClone(const Instruction& from, absl::Span<Instruction* const> operands) {
  std::vector<Computation*> called(from.called_.begin(), from.called_.end());
  if (from.parent_->module_ != module_) {
    for (Computation*& callee : called) callee = module_->CloneComputation(*callee);
  }
  Instruction* clone = Add(from.opcode_, from.shape_, operands, from.attributes_, called, from.name_);
  clone->shardings_ = from.shardings_;
  clone->op_name_ = from.op_name_;
  if (from.opcode_ == Opcode::kParameter) {
    const size_t number = static_cast<size_t>(from.parameter_number());
    if (parameters_.size() <= number) parameters_.resize(number + 1);
    parameters_[number] = clone;
  }
  return clone;
}

void Computation::Remove(Instruction* instruction) {
  for (Instruction* operand : instruction->operands_) operand->RemoveUser(instruction);
  if (instruction->opcode_ == Opcode::kParameter) {
    std::replace(parameters_.begin(), parameters_.end(), instruction, static_cast<Instruction*>(nullptr));
  }
  slots_[instruction->slot_].reset();
  ++empty_slots_;
  if (empty_slots_ * 2 > static_cast<int64_t>(slots_.size())) DropEmptySlots();
}

void Computation::DropEmptySlots() {
  slots_.erase(std::remove(slots_.begin(), slots_.end(), nullptr), slots_.end());
  empty_slots_ = 0;
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i]->slot_ = static_cast<int64_t>(i);
}

bool Computation::SortTopologically() {
  // Depth first from each instruction in the present order, with an explicit stack: programs may be deep.
  enum Mark : uint8_t { kNew, kOpen, kDone };
  DropEmptySlots();
  std::vector<Mark> marks(slots_.size(), kNew);
  std::vector<Instruction*> order, stack;
  order.reserve(slots_.size());
  for (const auto& slot : slots_) {
    stack.push_back(slot.get());
    while (!stack.empty()) {
      Instruction* top = stack.back();
      Mark& mark = marks[top->slot_];
      if (mark != kNew) {
        if (mark == kOpen) order.push_back(top);
        mark = kDone;
        stack.pop_back();
        continue;
      }
      mark = kOpen;
      for (auto it = top->operands_.rbegin(); it != top->operands_.rend(); ++it) {
        const Mark of_operand = marks[(*it)->slot_];
        if (of_operand == kNew) stack.push_back(*it);
        if (of_operand == kOpen && std::find(stack.begin(), stack.end(), *it) != stack.end()) return false;
      }
    }
  }
  SetOrder(order);
  return true;
}

void Computation::SetOrder(absl::Span<Instruction* const> order) {
  std::vector<std::unique_ptr<Instruction>> sorted;
  sorted.reserve(order.size());
  for (Instruction* instruction : order) {
    sorted.push_back(std::move(slots_[instruction->slot_]));
    instruction->slot_ = static_cast<int64_t>(sorted.size()) - 1;
  }
  slots_ = std::move(sorted);
  empty_slots_ = 0;
}

}  // namespace shoal
