#include "collectives/transport/packed_frame.h"

#include <cstring>

namespace shoal {

void PackFrame(const FrameHeader& header, absl::Span<const char> payload, std::vector<char>* bytes) {
  bytes->resize(sizeof(header) + payload.size());
  std::memcpy(bytes->data(), &header, sizeof(header));
  if (!payload.empty()) std::memcpy(bytes->data() + sizeof(header), payload.data(), payload.size());
}

void DeliverFrame(ProcessId from, absl::Span<const char> bytes, FrameSink* sink) {
  FrameHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  sink->OnFrame(from, header, bytes.subspan(sizeof(header)));
}

}  // namespace shoal
