// Region: the partitioning of one computation (or of a manual region, which is inlined into its caller's new
// computation). Walks the old instructions and adds local ones; the code of each family works through it.
//
// Every leaf of every old value is known by its local instruction and layout. Tuples dissolve into leaves.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/hlo/instruction.h"
#include "sharding/partition/choice.h"
#include "sharding/reshard/local_builder.h"
#include "sharding/spec/layout.h"

namespace shoal {

// The local part of one array.
struct LocalValue {
  Instruction* local = nullptr;
  Layout layout;
  bool imported = false;  // made by another region
};

class Region {
 public:
  // `manual`: axes along which arrays are local already.
  Region(SpmdContext& context, LocalBuilder& builder, AxisList manual)
      : context_(context), builder_(builder), manual_(std::move(manual)) {}

  // Partitions every instruction except parameters, whose leaves have been given by SetLeaf. Internal, too,
  // if the builder was asked for what has no shape.
  absl::Status Run(const Computation& old);
  // Partitions one instruction.
  absl::Status Run(const Instruction* old);

  // --- For the code of families ---
  SpmdContext& context() { return context_; }
  LocalBuilder& builder() { return builder_; }
  const Mesh& mesh() const { return builder_.mesh(); }
  const AxisList& manual() const { return manual_; }

  // Where a leaf is, and where its annotation wants it.
  Layout CurrentLayout(const Instruction* old, int64_t leaf = 0) const;
  Layout WantedLayout(const Instruction* old, int64_t leaf = 0) const;
  // Whether the leaf has been made here, or given.
  bool Has(const Instruction* old, int64_t leaf = 0) const;
  // Whether the leaf can be made in any layout without traffic.
  bool IsFree(const Instruction* old, int64_t leaf = 0) const;
  // The leaf in `layout`; made by a reshard if it is not there yet, and remembered.
  Instruction* Get(const Instruction* old, int64_t leaf, const Layout& layout);
  Instruction* Get(const Instruction* old, const Layout& layout) { return Get(old, 0, layout); }
  // The whole leaf on every device (along the axes that are not manual).
  Instruction* GetWhole(const Instruction* old, int64_t leaf = 0);
  // Gives a leaf its value as it is.
  void SetLeaf(const Instruction* old, int64_t leaf, Instruction* local, Layout layout);
  // The same for a value that another region has made: it is not free here, whatever its operation.
  void Import(const Instruction* old, int64_t leaf, Instruction* local, Layout layout);
  // Gives a leaf its value and brings it to the layout that its annotation wants; partial results are
  // combined by `combiner`.
  void SetResult(const Instruction* old, int64_t leaf, Instruction* local, const Layout& layout,
                 Opcode combiner = Opcode::kAdd);
  // A leaf that IsFree, in the layout that its annotation wants.
  absl::Status SetFree(const Instruction* old);
  // A leaf that is another's.
  void Alias(const Instruction* old, int64_t leaf, const Instruction* of, int64_t of_leaf);
  Instruction* Reshard(Instruction* local, const Shape& global, const Layout& from, const Layout& to,
                       Opcode combiner = Opcode::kAdd);

  // All leaves of a (possibly nested) tuple-shaped local instruction, and back.
  std::vector<Instruction*> Explode(Instruction* local);
  Instruction* Assemble(const Shape& global, absl::Span<Instruction* const> leaves);
  // `global` with every leaf local.
  static Shape LocalTree(const Shape& global, absl::Span<const Layout> layouts);

  // The choice problem of an instruction with a factor rule.
  ChoiceProblem ProblemOf(const Instruction& old, const FactorRule& rule) const;
  // The same where the caller can also work along `factor`, which the rule alone would not split.
  ChoiceProblem ProblemAlong(const Instruction& old, const FactorRule& rule, int factor) const;
  // Leaf `leaf` of operand `i`, which is the rule's tensor number `tensor`, as the choice wants it. Where
  // that gathers a dimension because the operation cannot work on parts, it is said so: in the log
  // (SHOAL_LOG=1), and in the name of what is made, "jit(f)/sort/whole(dimension 0 of f32[8,8])", by which
  // shoal.report knows it.
  Instruction* GetFor(const Instruction& old, const FactorRule& rule, const Choice& choice, int64_t i,
                      int64_t leaf, size_t tensor);
  // The same for an operation that takes its operands whole.
  Instruction* GetWholeFor(const Instruction& old, int64_t i, int64_t leaf);

 private:
  // Get, under a name that says why dimension `dim` is gathered.
  Instruction* GetGathered(const Instruction& old, int64_t i, int64_t leaf, const Layout& layout, size_t dim);
  // Puts split dimensions whose axes are in `spread` into zeros of the whole: the axes go from the layout's
  // dimensions to its partial ones, and out of `spread`.
  Instruction* SpreadParts(Instruction* local, const Shape& global, Layout& layout, AxisList& spread);
  Instruction* Rematerialize(const Instruction* old, const Layout& layout);

  SpmdContext& context_;
  LocalBuilder& builder_;
  const AxisList manual_;
  using Key = std::pair<const Instruction*, int64_t>;
  Key Resolve(const Instruction* old, int64_t leaf) const;
  absl::flat_hash_map<Key, Key> aliases_;
  absl::flat_hash_map<Key, LocalValue> values_;
  // Further layouts in which a leaf has been asked for.
  absl::flat_hash_map<Key, std::vector<LocalValue>> copies_;
};

// Partitions one instruction. The generic way: split factors, reshard operands, the same operation on local
// shapes, combine. Others are chosen by family or opcode in partition_table.cc.
using PartitionFunction = absl::Status (*)(Region&, const Instruction&);
PartitionFunction PartitionFunctionFor(const Instruction& instruction);

// The axes along which operands are partial sums and the result may stay one, because the instruction is
// linear in them; and the instruction partitioned so (linear.cc).
AxisList PartialAxesThrough(const Region& region, const Instruction& old);
absl::Status PartitionPartial(Region& region, const Instruction& old, const AxisList& through);

absl::Status PartitionGeneric(Region& region, const Instruction& old);
absl::Status PartitionWithChoice(Region& region, const Instruction& old, const FactorRule& rule,
                                 const Choice& choice);
// Operand `tensor` with `neutral` where an unevenly split dimension that is reduced has rubbish at its end.
Instruction* MaskReduced(Region& region, const FactorRule& rule, const FactorAxesList& axes, size_t tensor,
                         Instruction* local, Literal neutral);
// Multiplications and additions a point of the factor space; 0 for what is about bytes.
double FlopsPerPoint(const Instruction& old);
// Everything whole on every device, results cut; named in the log.
absl::Status PartitionReplicated(Region& region, const Instruction& old);

// Attributes for the operation on parts: sizes of dimensions that pass through become local.
Attributes LocalAttributes(const Instruction& old, absl::Span<const Shape> local_operands,
                           absl::Span<const Shape> local_results);

}  // namespace shoal
