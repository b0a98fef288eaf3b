// The custom-partitioner extension: JAX's custom_partitioning, whose Python functions say how their calls are
// split.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/literal_proto.h"
#include "core/hlo/op_sharding.h"
#include "plugin/api/api.h"
#include "sharding/rules/custom_partitioner.h"
#include "xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h"

namespace shoal {
namespace {

constexpr char kName[] = "custom-partitioner extension";

JAX_CustomCallPartitioner_string Lend(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
absl::string_view Borrow(JAX_CustomCallPartitioner_string bytes) { return View(bytes.data, bytes.size); }

std::string ShapeBytes(const Shape& shape) {
  wire::ShapeProto proto;
  ShapeToProto(shape, proto);
  return proto.SerializeAsString();
}

// An array as bytes, and the view of them that goes out.
class ArrayBytes {
 public:
  explicit ArrayBytes(const PlacedArray& array)
      : shape_(ShapeBytes(array.shape)), sharding_(SerializeOpSharding(array.sharding)) {}
  JAX_CustomCallPartitioner_aval Lent() const { return {Lend(shape_), true, Lend(sharding_)}; }

 private:
  std::string shape_, sharding_;
};

// All arrays of a call; lives as long as the question.
struct CallBytes {
  explicit CallBytes(const PlacedCall& call) : result(call.result) {
    for (const PlacedArray& operand : call.operands) operands.emplace_back(operand);
    for (const ArrayBytes& operand : operands) lent.push_back(operand.Lent());
  }
  ArrayBytes result;
  std::vector<ArrayBytes> operands;
  std::vector<JAX_CustomCallPartitioner_aval> lent;
};

// The answer's memory is given back when this goes.
class Answer {
 public:
  explicit Answer(const JAX_CustomCallPartitioner_version_and_error& header) : header_(header) {}
  ~Answer() {
    if (header_.cleanup_fn != nullptr) header_.cleanup_fn(header_.data);
  }
  Answer(const Answer&) = delete;
  absl::Status status() const {
    if (!header_.has_error) return absl::OkStatus();
    return StatusOf(header_.code, header_.error_msg.data, header_.error_msg.size);
  }

 private:
  const JAX_CustomCallPartitioner_version_and_error& header_;
};

class CallbackPartitioner : public CustomPartitioner {
 public:
  explicit CallbackPartitioner(JAX_CustomCallPartitioner_Callbacks* callbacks) : callbacks_(callbacks) {}
  ~CallbackPartitioner() override {
    if (callbacks_->dtor != nullptr) callbacks_->dtor(callbacks_);
  }

  absl::StatusOr<SplitCall> Split(const PlacedCall& call) const override {
    const CallBytes bytes(call);
    std::vector<JAX_CustomCallPartitioner_aval> operands = bytes.lent;
    JAX_CustomCallPartitioner_Partition_Args args = {};
    args.num_args = operands.size();
    args.op_args = operands.data();
    args.op_result = bytes.result.Lent();
    args.backend_config = Lend(call.backend_config);
    callbacks_->partition(callbacks_, &args);
    const Answer answer(args.header);
    SHOAL_RETURN_IF_ERROR(answer.status());
    SplitCall split;
    split.program = std::string(Borrow(args.mlir_module));
    for (size_t i = 0; i < args.num_args; ++i) {
      SHOAL_ASSIGN_OR_RETURN(split.operands.emplace_back(),
                             ParseOpSharding(Borrow(args.args_sharding[i])));
    }
    SHOAL_ASSIGN_OR_RETURN(split.result, ParseOpSharding(Borrow(args.result_sharding)));
    return split;
  }

  absl::StatusOr<OpSharding> InferResult(const PlacedCall& call) const override {
    const CallBytes bytes(call);
    std::vector<JAX_CustomCallPartitioner_aval> operands = bytes.lent;
    JAX_CustomCallPartitioner_InferShardingFromOperands_Args args = {};
    args.num_args = operands.size();
    args.op_args = operands.data();
    args.result_shape = bytes.result.Lent().shape;
    args.backend_config = Lend(call.backend_config);
    callbacks_->infer_sharding(callbacks_, &args);
    const Answer answer(args.header);
    SHOAL_RETURN_IF_ERROR(answer.status());
    if (!args.has_result_sharding) return absl::NotFoundError("the callback infers no sharding");
    return ParseOpSharding(Borrow(args.result_sharding));
  }

  absl::StatusOr<OpSharding> FromUser(const PlacedCall& call) const override {
    const ArrayBytes result(call.result);
    JAX_CustomCallPartitioner_PropagateUserSharding_Args args = {};
    args.backend_config = Lend(call.backend_config);
    args.result_shape = result.Lent().shape;
    args.result_sharding = result.Lent().sharding;
    callbacks_->propagate_user_sharding(callbacks_, &args);
    const Answer answer(args.header);
    SHOAL_RETURN_IF_ERROR(answer.status());
    return ParseOpSharding(Borrow(args.result_sharding));
  }

 private:
  JAX_CustomCallPartitioner_Callbacks* const callbacks_;
};

absl::Status Register(PJRT_Register_Custom_Partitioner_Args& args) {
  const absl::string_view target = View(args.name, args.name_size);
  if (args.callbacks == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the partitioner of ", target, " has no callbacks"));
  }
  if (args.callbacks->version != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the partitioner of ", target,
                                                   " has callbacks of version ", args.callbacks->version,
                                                   ", this plugin knows version 0"));
  }
  RegisterCustomPartitioner(target, std::make_shared<CallbackPartitioner>(args.callbacks));
  return absl::OkStatus();
}

// JAX writes the rule of such a target beside each call, which is what the partitioner goes by.
absl::Status RegisterBatched(PJRT_Register_Batch_Partitionable_Args&) { return absl::OkStatus(); }

}  // namespace

PJRT_Extension_Base* CustomPartitionerExtension(PJRT_Extension_Base* next) {
  static PJRT_Custom_Partitioner_Extension extension = {
      .base = {.struct_size = PJRT_Custom_Partitioner_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Custom_Partitioner,
               .next = next},
      .register_custom_partitioner = ExtensionEntry<kName, Register>,
      .register_batch_partitionable = ExtensionEntry<kName, RegisterBatched>,
  };
  return &extension.base;
}

}  // namespace shoal
