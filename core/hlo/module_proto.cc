#include "core/hlo/module_proto.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/attribute_proto.h"
#include "core/hlo/attribute_text.h"
#include "core/hlo/host_transfer_proto.h"
#include "core/hlo/literal_proto.h"
#include "core/hlo/origin.h"
#include "core/hlo/verifier.h"

namespace shoal {
namespace {

// XLA lists a loop's body before its condition.
std::vector<Computation*> InWireOrder(Opcode opcode, absl::Span<Computation* const> called) {
  std::vector<Computation*> order(called.begin(), called.end());
  if (opcode == Opcode::kWhile) std::reverse(order.begin(), order.end());
  return order;
}

// Callees before callers; what the entry does not reach is left out.
void AppendWithCallees(const Computation* computation, absl::flat_hash_set<const Computation*>& seen,
                       std::vector<const Computation*>& order) {
  if (!seen.insert(computation).second) return;
  for (const Instruction* instruction : computation->instructions()) {
    for (const Computation* callee : instruction->called()) AppendWithCallees(callee, seen, order);
  }
  order.push_back(computation);
}

class ModuleWriter {
 public:
  explicit ModuleWriter(const Module& module) : module_(module) {
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == Opcode::kFusion) fusion_bodies_.insert(instruction->called(0));
      }
    }
  }

  absl::StatusOr<wire::HloModuleProto> Write() {
    wire::HloModuleProto proto;
    absl::flat_hash_set<const Computation*> seen;
    std::vector<const Computation*> order;
    AppendWithCallees(module_.entry(), seen, order);
    for (const Computation* computation : order) computation_ids_[computation] = ++next_id_;
    for (const Computation* computation : order)
      SHOAL_RETURN_IF_ERROR(WriteComputation(*computation, *proto.add_computations()));
    proto.set_name(module_.name());
    proto.set_entry_computation_name(module_.entry()->name());
    proto.set_entry_computation_id(computation_ids_.at(module_.entry()));
    proto.set_id(1);
    WriteProgramShape(*module_.entry(), *proto.mutable_host_program_shape());
    WriteAliases(proto);
    return proto;
  }

  static void WriteProgramShape(const Computation& computation, wire::ProgramShapeProto& proto) {
    for (const Instruction* parameter : computation.parameters()) {
      ShapeToProto(parameter->shape(), *proto.add_parameters());
      proto.add_parameter_names(parameter->name());
    }
    ShapeToProto(computation.root()->shape(), *proto.mutable_result());
  }

 private:
  void WriteAliases(wire::HloModuleProto& proto) const {
    const bool tuple = module_.entry()->root()->shape().IsTuple();
    for (const auto& [result, parameter] : module_.config().aliases) {
      auto& entry = *proto.mutable_input_output_alias()->add_entries();
      if (tuple) entry.add_output_shape_index(result);
      entry.set_parameter_number(parameter);
      entry.set_kind(1);
    }
    for (int64_t donor : module_.config().donors)
      proto.mutable_buffer_donor()->add_entries()->set_parameter_number(donor);
  }

  absl::Status WriteComputation(const Computation& computation, wire::HloComputationProto& proto) {
    proto.set_name(computation.name());
    proto.set_id(computation_ids_.at(&computation));
    for (const Instruction* instruction : computation.instructions()) {
      ids_[instruction] = ++next_id_;
      SHOAL_RETURN_IF_ERROR(WriteInstruction(*instruction, *proto.add_instructions()));
    }
    proto.set_root_id(ids_.at(computation.root()));
    proto.set_is_fusion_computation(fusion_bodies_.contains(&computation));
    WriteProgramShape(computation, *proto.mutable_program_shape());
    return absl::OkStatus();
  }

  absl::Status WriteInstruction(const Instruction& instruction, wire::HloInstructionProto& proto) {
    const Opcode opcode = instruction.opcode();
    if (FamilyOf(opcode) == OpFamily::kShardingFamily)
      return absl::InternalError(absl::StrCat(instruction.ToString(), " is not for other tools"));
    proto.set_name(instruction.name());
    proto.set_opcode(std::string(OpcodeName(opcode)));
    proto.set_id(ids_.at(&instruction));
    ShapeToProto(instruction.shape(), *proto.mutable_shape());
    if (opcode == Opcode::kOutfeed)
      ShapeToProto(instruction.operand(0)->shape(), *proto.mutable_outfeed_shape());
    for (const Instruction* operand : instruction.operands()) proto.add_operand_ids(ids_.at(operand));
    for (const Computation* callee : InWireOrder(opcode, instruction.called()))
      proto.add_called_computation_ids(computation_ids_.at(callee));
    if (!instruction.op_name().empty()) WriteOrigin(instruction.op_name(), *proto.mutable_metadata());
    if (opcode == Opcode::kConstant) LiteralToProto(instruction.literal(), *proto.mutable_literal());
    AttributesToProto(opcode, instruction.attributes(), proto);
    return absl::OkStatus();
  }

  static void WriteOrigin(absl::string_view text, wire::OpMetadata& metadata) {
    const Origin origin = ParseOrigin(text);
    metadata.set_op_name(std::string(origin.name));
    if (origin.file.empty()) return;
    metadata.set_source_file(std::string(origin.file));
    metadata.set_source_line(static_cast<int32_t>(origin.line));
  }

  const Module& module_;
  int64_t next_id_ = 0;
  absl::flat_hash_map<const Computation*, int64_t> computation_ids_;
  absl::flat_hash_map<const Instruction*, int64_t> ids_;
  absl::flat_hash_set<const Computation*> fusion_bodies_;
};

absl::StatusOr<wire::HloModuleProto> WriteModule(const Module& module) {
  SHOAL_RETURN_IF_ERROR(VerifyStructure(module));
  return ModuleWriter(module).Write();
}

class ModuleReader {
 public:
  ModuleReader(const wire::HloModuleProto& proto, const OpShardingReader& read_sharding)
      : proto_(proto), read_sharding_(read_sharding) {}

  absl::StatusOr<std::unique_ptr<Module>> Read() {
    module_ = std::make_unique<Module>(proto_.name());
    std::vector<Computation*> computations;
    for (const auto& computation : proto_.computations()) {
      computations.push_back(module_->AddComputation(computation.name()));
      if (!by_id_.try_emplace(computation.id(), computations.back()).second)
        return absl::InvalidArgumentError(absl::StrCat("two computations have the id ", computation.id()));
    }
    for (int i = 0; i < proto_.computations_size(); ++i)
      SHOAL_RETURN_IF_ERROR(ReadComputation(proto_.computations(i), *computations[i]));
    SHOAL_RETURN_IF_ERROR(CheckLayouts());
    auto entry = by_id_.find(proto_.entry_computation_id());
    if (entry == by_id_.end()) return absl::InvalidArgumentError("the module has no entry computation");
    module_->set_entry(entry->second);
    SHOAL_RETURN_IF_ERROR(ReadAliases());
    if (absl::Status status = VerifyStructure(*module_); !status.ok())
      return absl::InvalidArgumentError(status.message());
    return std::move(module_);
  }

 private:
  // Where values lie in memory is Shoal's own affair, at the boundary, too: PJRT's callers ask for a buffer's
  // layout. Only a bitcast means it.
  absl::Status CheckLayouts() const {
    for (const auto& computation : proto_.computations()) {
      for (const auto& one : computation.instructions()) {
        if (one.opcode() == "bitcast" && !IsRowMajor(one.shape()))
          return absl::UnimplementedError(
              absl::StrCat("%", one.name(), ": only row-major layouts are known"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadAliases() {
    for (const auto& entry : proto_.input_output_alias().entries()) {
      if (entry.output_shape_index_size() > 1 || entry.parameter_shape_index_size() > 0)
        return absl::UnimplementedError("aliases inside nested tuples");
      module_->config().aliases.emplace_back(
          entry.output_shape_index_size() > 0 ? entry.output_shape_index(0) : 0, entry.parameter_number());
    }
    for (const auto& entry : proto_.buffer_donor().entries()) {
      if (entry.parameter_shape_index_size() > 0) return absl::UnimplementedError("donors inside tuples");
      module_->config().donors.push_back(entry.parameter_number());
    }
    return absl::OkStatus();
  }

  absl::Status ReadComputation(const wire::HloComputationProto& proto, Computation& computation) {
    absl::flat_hash_map<int64_t, Instruction*> instructions;
    for (const auto& one : proto.instructions()) {
      absl::StatusOr<Instruction*> instruction =
          ReadInstruction(one, proto.instructions_size(), instructions, computation);
      if (!instruction.ok())
        return Annotate(instruction.status(), absl::StrCat("%", one.name(), " (", one.opcode(), ")"));
      if (!instructions.try_emplace(one.id(), *instruction).second)
        return absl::InvalidArgumentError(absl::StrCat("%", one.name(), ": its id comes twice"));
    }
    auto root = instructions.find(proto.root_id());
    if (root == instructions.end())
      return absl::InvalidArgumentError(absl::StrCat("%", proto.name(), " has no root"));
    computation.set_root(root->second);
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> ReadInstruction(const wire::HloInstructionProto& proto, int64_t count,
                                               const absl::flat_hash_map<int64_t, Instruction*>& before,
                                               Computation& computation) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.shape()));
    std::vector<Instruction*> operands;
    for (int64_t id : proto.operand_ids()) {
      auto it = before.find(id);
      if (it == before.end()) return absl::InvalidArgumentError("an operand does not stand before it");
      operands.push_back(it->second);
    }
    if (IsHostTransferOpcode(proto.opcode())) {
      SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, ShardingsOf(proto, shape));
      return ReadHostTransfer(proto, shape, operands, std::move(shardings), computation);
    }
    SHOAL_ASSIGN_OR_RETURN(Opcode opcode, ParseOpcode(proto.opcode()));
    std::vector<Computation*> called;
    for (int64_t id : proto.called_computation_ids()) {
      auto it = by_id_.find(id);
      if (it == by_id_.end()) return absl::InvalidArgumentError("it calls a computation that is not there");
      called.push_back(it->second);
    }
    Attributes attributes = DefaultAttributes(opcode);
    SHOAL_RETURN_IF_ERROR(AttributesFromProto(opcode, proto, attributes));
    if (opcode == Opcode::kConstant) {
      SHOAL_ASSIGN_OR_RETURN(Literal literal, LiteralFromProto(proto.literal()));
      if (literal.shape() != shape) {
        return absl::InvalidArgumentError(absl::StrCat("constant ", proto.name(), " is ", shape.ToString(),
                                                       " but its literal is ", literal.shape().ToString()));
      }
      attributes = ConstantAttributes{std::move(literal)};
    }
    Instruction* instruction;
    if (opcode == Opcode::kParameter) {
      if (proto.parameter_number() < 0 || proto.parameter_number() >= count)
        return absl::InvalidArgumentError("bad parameter number");
      instruction = computation.AddParameter(proto.parameter_number(), std::move(shape), proto.name());
    } else {
      instruction = computation.Add(opcode, std::move(shape), operands, std::move(attributes),
                                    InWireOrder(opcode, called), proto.name());
    }
    const wire::OpMetadata& metadata = proto.metadata();
    instruction->set_op_name(
        OriginText({metadata.op_name(), metadata.source_file(), metadata.source_line()}));
    SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, ShardingsOf(proto, instruction->shape()));
    if (!shardings.empty()) instruction->set_shardings(std::move(shardings));
    return instruction;
  }

  // One a leaf of `shape`, or none if nothing is said, or only that all have all.
  absl::StatusOr<std::vector<Sharding>> ShardingsOf(const wire::HloInstructionProto& instruction,
                                                    const Shape& shape) {
    if (!instruction.has_sharding()) return std::vector<Sharding>();
    const wire::OpShardingProto& proto = instruction.sharding();
    if (read_sharding_) return read_sharding_(proto.SerializeAsString(), shape);
    const bool whole =
        proto.type() == 0 ||
        (proto.type() == 2 && std::all_of(proto.tuple_shardings().begin(), proto.tuple_shardings().end(),
                                          [](const auto& s) { return s.type() == 0; }));
    if (!whole) return absl::UnimplementedError("a sharding in an HloModuleProto");
    return std::vector<Sharding>();
  }

  const wire::HloModuleProto& proto_;
  const OpShardingReader& read_sharding_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<int64_t, Computation*> by_id_;
};

absl::Status Unreadable(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the bytes are not a serialized ", what));
}

}  // namespace

absl::StatusOr<std::string> ToHloModuleProto(const Module& module) {
  SHOAL_ASSIGN_OR_RETURN(wire::HloModuleProto proto, WriteModule(module));
  return proto.SerializeAsString();
}

absl::StatusOr<std::string> ToHloModuleProtoWithConfig(const Module& module) {
  wire::HloModuleProtoWithConfig proto;
  SHOAL_ASSIGN_OR_RETURN(*proto.mutable_hlo_module(), WriteModule(module));
  wire::HloModuleConfigProto& config = *proto.mutable_config();
  ModuleWriter::WriteProgramShape(*module.entry(), *config.mutable_entry_computation_layout());
  config.set_replica_count(module.config().num_replicas);
  config.set_num_partitions(module.config().num_partitions);
  config.set_use_spmd_partitioning(module.config().num_partitions > 1);
  return proto.SerializeAsString();
}

absl::StatusOr<std::unique_ptr<Module>> FromHloModuleProto(absl::string_view bytes,
                                                           const OpShardingReader& read_sharding) {
  wire::HloModuleProto proto;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Unreadable("HloModuleProto");
  return ModuleReader(proto, read_sharding).Read();
}

absl::StatusOr<std::unique_ptr<Module>> FromHloModuleProtoWithConfig(absl::string_view bytes,
                                                                     const OpShardingReader& read_sharding) {
  wire::HloModuleProtoWithConfig proto;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Unreadable("HloModuleProtoWithConfig");
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module,
                         ModuleReader(proto.hlo_module(), read_sharding).Read());
  module->config().num_replicas = std::max<int64_t>(proto.config().replica_count(), 1);
  module->config().num_partitions = std::max<int64_t>(proto.config().num_partitions(), 1);
  return module;
}

}  // namespace shoal
