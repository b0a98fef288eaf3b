// Host transfers: arrays that a running program gives to its host (send), or takes from it (recv), through a
// channel. Each is a custom call with side effects:
//
//   send: arrays..., token -> token        recv: token -> (arrays..., token), or the token alone
//
// Several arrays are one transfer, in order. Only tokens order one after another, and a channel's own
// transfers the program's order. XLA's send, send-done, recv and recv-done come as this
// (host_transfer_proto.h).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/hlo/custom_call_target.h"

namespace shoal {

inline constexpr char kHostSendTarget[] = "shoal.host_send", kHostRecvTarget[] = "shoal.host_recv";

// The attributes of one; the channel stands in its backend_config.
inline CustomCallAttributes HostTransfer(bool sends, int64_t channel) {
  CustomCallAttributes attributes;
  attributes.target = sends ? kHostSendTarget : kHostRecvTarget;
  attributes.backend_config = absl::StrCat(channel);
  attributes.has_side_effect = true;
  return attributes;
}

inline bool IsHostTransfer(const Instruction& instruction) {
  return IsCallOf(instruction, kHostSendTarget) || IsCallOf(instruction, kHostRecvTarget);
}

// REQUIRES: IsHostTransfer. Nothing if what stands there is no channel.
inline std::optional<int64_t> HostChannelId(const Instruction& transfer) {
  int64_t id;
  if (!absl::SimpleAtoi(transfer.attributes<CustomCallAttributes>().backend_config, &id)) return std::nullopt;
  return id;
}

}  // namespace shoal
