#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/hlo/instruction.h"

namespace shoal {
namespace {

// Copies computations from one module into another (or the same one), each once.
class Cloner {
 public:
  Cloner(Module& into, absl::string_view suffix) : into_(into), suffix_(suffix) {}

  Computation* Clone(const Computation& from) {
    if (auto it = done_.find(&from); it != done_.end()) return it->second;
    Computation* to = into_.AddComputation(absl::StrCat(from.name(), suffix_));
    absl::flat_hash_map<const Instruction*, Instruction*> clones;
    for (Instruction* instruction : from.instructions()) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : instruction->operands()) operands.push_back(clones.at(operand));
      std::vector<Computation*> called;
      for (Computation* callee : instruction->called()) called.push_back(Clone(*callee));
      clones[instruction] = CloneOne(*instruction, operands, called, *to);
    }
    if (from.root() != nullptr) to->set_root(clones.at(from.root()));
    return done_[&from] = to;
  }

 private:
  static Instruction* CloneOne(const Instruction& from, absl::Span<Instruction* const> operands,
                               absl::Span<Computation* const> called, Computation& to) {
    Instruction* clone =
        from.opcode() == Opcode::kParameter
            ? to.AddParameter(from.parameter_number(), from.shape(), from.name())
            : to.Add(from.opcode(), from.shape(), operands, from.attributes(), called, from.name());
    clone->set_shardings(from.shardings());
    clone->set_op_name(from.op_name());
    return clone;
  }

  Module& into_;
  absl::string_view suffix_;
  absl::flat_hash_map<const Computation*, Computation*> done_;
};

// Callees before callers.
void AppendWithCallees(Computation* computation, absl::flat_hash_set<Computation*>& seen,
                       std::vector<Computation*>& order) {
  if (!seen.insert(computation).second) return;
  for (Instruction* instruction : computation->instructions()) {
    for (Computation* callee : instruction->called()) AppendWithCallees(callee, seen, order);
  }
  order.push_back(computation);
}

}  // namespace

std::vector<Computation*> Module::computations() const {
  std::vector<Computation*> all;
  for (const auto& computation : computations_) all.push_back(computation.get());
  return all;
}

Computation* Module::AddComputation(absl::string_view name) {
  std::unique_ptr<Computation> computation(new Computation());
  computation->name_ = UniqueName(name);
  computation->module_ = this;
  computations_.push_back(std::move(computation));
  return computations_.back().get();
}

Computation* Module::CloneComputation(const Computation& from, absl::string_view suffix) {
  return Cloner(*this, suffix).Clone(from);
}

void Module::RemoveUnreachableComputations() {
  absl::flat_hash_set<Computation*> reachable;
  std::vector<Computation*> order;
  if (entry_ != nullptr) AppendWithCallees(entry_, reachable, order);
  computations_.erase(std::remove_if(computations_.begin(), computations_.end(),
                                     [&](const auto& c) { return !reachable.contains(c.get()); }),
                      computations_.end());
}

void Module::SortComputations() {
  absl::flat_hash_set<Computation*> seen;
  std::vector<Computation*> order;
  for (const auto& computation : computations_) AppendWithCallees(computation.get(), seen, order);
  absl::flat_hash_map<Computation*, size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::sort(computations_.begin(), computations_.end(),
            [&](const auto& a, const auto& b) { return position.at(a.get()) < position.at(b.get()); });
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>(name_);
  clone->config_ = config_;
  if (entry_ != nullptr) clone->entry_ = clone->CloneComputation(*entry_);
  return clone;
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const auto& computation : computations_) count += computation->instruction_count();
  return count;
}

std::string Module::UniqueName(absl::string_view wish) {
  if (name_uses_.try_emplace(wish, 0).second) return std::string(wish);
  // Taken: "add.3" asks for another of the family "add".
  const size_t dot = wish.rfind('.');
  int64_t number;
  const absl::string_view base =
      dot != absl::string_view::npos && absl::SimpleAtoi(wish.substr(dot + 1), &number) ? wish.substr(0, dot)
                                                                                        : wish;
  while (true) {
    // Looked up each time, for the insertion of the new name may move the counter.
    std::string name = absl::StrCat(base, ".", ++name_uses_[base]);
    if (name_uses_.try_emplace(name, 0).second) return name;
  }
}

}  // namespace shoal
