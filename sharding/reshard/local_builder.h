// LocalBuilder: an HloBuilder for one computation of a program that is being partitioned. Knows the mesh, so
// it can say where this device stands; gives channel ids; keeps the few things that are asked for again and
// again (partition id, coordinates, combining regions). Region::Run asks for its status().
//
// SpmdContext is what all computations of one program share. Neither is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/hlo/instruction.h"
#include "core/ops/builder.h"

namespace shoal {

class SpmdContext {
 public:
  // Channel ids go on from the highest that the module uses already.
  SpmdContext(Module& module, std::shared_ptr<const Mesh> mesh);

  Module& module() { return module_; }
  const Mesh& mesh() const { return *mesh_; }
  const std::shared_ptr<const Mesh>& mesh_ptr() const { return mesh_; }
  int64_t NextChannel() { return next_channel_++; }
  // The type of positions along dimensions: s32, or s64 where some array of the program is too long for that.
  ElementType position_type() const { return position_type_; }
  // (type[], type[]) -> type[] by one operation.
  Computation* ScalarBody(Opcode opcode, ElementType type);

 private:
  Module& module_;
  std::shared_ptr<const Mesh> mesh_;
  int64_t next_channel_ = 1;
  ElementType position_type_ = ElementType::kS32;
  absl::flat_hash_map<std::pair<Opcode, ElementType>, Computation*> scalar_bodies_;
};

class LocalBuilder : public HloBuilder {
 public:
  LocalBuilder(SpmdContext& context, Computation* computation)
      : LocalBuilder(context, computation, context.mesh_ptr()) {}
  // Axes are those of `mesh`.
  LocalBuilder(SpmdContext& context, Computation* computation, std::shared_ptr<const Mesh> mesh)
      : HloBuilder(computation), context_(context), mesh_(std::move(mesh)) {}

  SpmdContext& context() { return context_; }
  const Mesh& mesh() const { return *mesh_; }

  // Shape and attributes as given.
  Instruction* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                   Attributes attributes = {}, absl::Span<Computation* const> called = {});

  // Scalars of position_type(): this device's coordinate along `axes`; the value for its part along `axes`
  // (one a part); a constant.
  ElementType position_type() const { return context_.position_type(); }
  Instruction* Coordinate(const AxisList& axes);
  Instruction* OfPart(const AxisList& axes, absl::Span<const int64_t> values);
  Instruction* Position(int64_t value);
  // A scalar with all bits zero.
  Instruction* Zero(ElementType type);

  Instruction* BroadcastScalar(Instruction* scalar, absl::Span<const int64_t> dims);
  // Elements [start, limit) of one dimension, every stride-th.
  Instruction* Slice(Instruction* x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  Instruction* DynamicSlice(Instruction* x, int64_t dim, Instruction* start, int64_t size);
  // Grows one dimension to `size` with zeros at its end.
  Instruction* PadTo(Instruction* x, int64_t dim, int64_t size);
  Instruction* Pad(Instruction* x, int64_t dim, int64_t low, int64_t high, Instruction* value);

  // Collectives among the devices that differ along `axes`, in the order of `axes`.
  Instruction* AllReduce(Instruction* x, const AxisList& axes, Opcode combiner);
  Instruction* AllGather(Instruction* x, const AxisList& axes, int64_t dim);
  Instruction* ReduceScatter(Instruction* x, const AxisList& axes, int64_t dim, Opcode combiner);
  // What the member with coordinate `part` has, on all.
  Instruction* CollectiveBroadcast(Instruction* x, const AxisList& axes, int64_t part);
  // Part i of dimension 0 goes to member i; part j of the result comes from member j.
  Instruction* AllToAll(Instruction* x, const AxisList& axes);
  // core/hlo/ragged_all_to_all.h
  Instruction* RaggedAllToAll(absl::Span<Instruction* const> operands, const AxisList& axes);
  Instruction* Permute(Instruction* x, Pairs pairs);

  // Where dimension `dim` of x, which is `global` long and split over `axes`, is past its end, `value` (a
  // scalar) instead.
  Instruction* MaskPadding(Instruction* x, int64_t dim, int64_t global, const AxisList& axes,
                           Instruction* value);

 private:
  Groups GroupsOf(const AxisList& axes) const;
  CollectiveAttributes Among(const AxisList& axes, IntVector dimensions);
  // Entry `partition id` of a table of one position a partition.
  Instruction* OfPartition(std::string table);

  SpmdContext& context_;
  std::shared_ptr<const Mesh> mesh_;
  Instruction* partition_id_ = nullptr;
  absl::flat_hash_map<std::string, Instruction*> of_partition_;  // by table
  absl::flat_hash_map<int64_t, Instruction*> constants_;
};

// ReductionIdentity (core/ops/reduction.h) of a combiner; zero for any other opcode.
Literal IdentityOf(Opcode combiner, ElementType type);

}  // namespace shoal
