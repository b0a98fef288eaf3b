// A frame as one run of bytes, header and payload, as it travels over libraries that carry whole messages
// (MPI, UCX).
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "collectives/transport/wire.h"

namespace shoal {

void PackFrame(const FrameHeader& header, absl::Span<const char> payload, std::vector<char>* bytes);
// Hands the frame to the sink; nothing where the bytes are too few to be one.
void DeliverFrame(ProcessId from, absl::Span<const char> bytes, FrameSink* sink);

}  // namespace shoal
