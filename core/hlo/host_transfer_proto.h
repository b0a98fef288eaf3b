// XLA's four instructions of a host transfer (send, send-done, recv, recv-done), read as the one that is here
// (host_transfer.h). A send or recv is a tuple of the data, a number that nobody reads, and the token; the
// done takes its parts. Inside core/hlo.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/hlo/instruction.h"
#include "core/hlo/proto/hlo.pb.h"

namespace shoal {

bool IsHostTransferOpcode(absl::string_view opcode);

// REQUIRES: IsHostTransferOpcode(proto.opcode()). `shape` is the proto's. The instruction that stands for it.
// `shardings` has one a leaf of `shape`, or none. Unimplemented for a transfer between devices.
absl::StatusOr<Instruction*> ReadHostTransfer(const wire::HloInstructionProto& proto, const Shape& shape,
                                              absl::Span<Instruction* const> operands,
                                              std::vector<Sharding> shardings, Computation& computation);

}  // namespace shoal
