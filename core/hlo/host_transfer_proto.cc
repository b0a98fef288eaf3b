#include "core/hlo/host_transfer_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/host_transfer.h"

namespace shoal {
namespace {

// (data, number, token), as both starts give it.
absl::Status CheckStart(const Shape& shape) {
  if (shape.IsTuple() && shape.elements().size() == 3 && shape.elements()[2].IsToken())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its shape is ", shape.ToString(), ", not (data, u32[], token)"));
}

Instruction* Start(Computation& computation, Instruction* data, Instruction* token) {
  Instruction* number = computation.AddConstant(Literal::Scalar<uint32_t>(ElementType::kU32, 0));
  return computation.AddTuple({data, number, token});
}

absl::StatusOr<Instruction*> ReadSend(const wire::HloInstructionProto& proto, const Shape& shape,
                                      absl::Span<Instruction* const> operands,
                                      std::vector<Sharding> shardings, Computation& computation) {
  SHOAL_RETURN_IF_ERROR(CheckStart(shape));
  if (operands.size() != 2 || !operands[1]->shape().IsToken() || operands[0]->shape() != shape.elements()[0])
    return absl::InvalidArgumentError("a send takes its data and a token");
  std::vector<Instruction*> sent;
  const Shape& data = operands[0]->shape();
  if (!data.IsTuple()) sent.push_back(operands[0]);
  for (size_t i = 0; data.IsTuple() && i < data.elements().size(); ++i)
    sent.push_back(computation.AddGetTupleElement(operands[0], static_cast<int64_t>(i)));
  sent.push_back(operands[1]);
  Instruction* call = computation.Add(Opcode::kCustomCall, Shape::Token(), sent,
                                      HostTransfer(/*sends=*/true, proto.channel_id()), {}, proto.name());
  if (!shardings.empty()) call->set_shardings({std::move(shardings.back())});
  return Start(computation, operands[0], call);
}

absl::StatusOr<Instruction*> ReadRecv(const wire::HloInstructionProto& proto, const Shape& shape,
                                      absl::Span<Instruction* const> operands,
                                      std::vector<Sharding> shardings, Computation& computation) {
  SHOAL_RETURN_IF_ERROR(CheckStart(shape));
  if (operands.size() != 1 || !operands[0]->shape().IsToken())
    return absl::InvalidArgumentError("a recv takes a token");
  const Shape& data = shape.elements()[0];
  std::vector<Shape> results = data.Leaves();
  const auto arrays = static_cast<int64_t>(results.size());
  results.push_back(Shape::Token());
  Instruction* call = computation.Add(Opcode::kCustomCall, Shape::Tuple(std::move(results)), operands,
                                      HostTransfer(/*sends=*/false, proto.channel_id()), {}, proto.name());
  if (!shardings.empty()) {
    shardings.erase(shardings.end() - 2);  // the number's
    call->set_shardings(std::move(shardings));
  }
  std::vector<Instruction*> received;
  for (int64_t i = 0; i < arrays; ++i) received.push_back(computation.AddGetTupleElement(call, i));
  Instruction* whole = data.IsTuple() ? computation.AddTuple(received) : received[0];
  if (whole->shape() != data) return absl::UnimplementedError("a tuple inside a tuple is received");
  return Start(computation, whole, computation.AddGetTupleElement(call, arrays));
}

}  // namespace

bool IsHostTransferOpcode(absl::string_view opcode) {
  return opcode == "send" || opcode == "send-done" || opcode == "recv" || opcode == "recv-done";
}

absl::StatusOr<Instruction*> ReadHostTransfer(const wire::HloInstructionProto& proto, const Shape& shape,
                                              absl::Span<Instruction* const> operands,
                                              std::vector<Sharding> shardings, Computation& computation) {
  if (!proto.is_host_transfer())
    return absl::UnimplementedError(
        "it is between devices, not with the host: use a collective-permute instead");
  if (proto.opcode() == "send") return ReadSend(proto, shape, operands, std::move(shardings), computation);
  if (proto.opcode() == "recv") return ReadRecv(proto, shape, operands, std::move(shardings), computation);
  if (operands.size() != 1) return absl::InvalidArgumentError("it takes its start alone");
  SHOAL_RETURN_IF_ERROR(CheckStart(operands[0]->shape()));
  Instruction* token = computation.AddGetTupleElement(operands[0], 2);
  Instruction* done = proto.opcode() == "send-done"
                          ? token
                          : computation.AddTuple({computation.AddGetTupleElement(operands[0], 0), token});
  if (done->shape() != shape)
    return absl::InvalidArgumentError(
        absl::StrCat("its shape is ", shape.ToString(), ", its start gives ", done->shape().ToString()));
  return done;
}

}  // namespace shoal
