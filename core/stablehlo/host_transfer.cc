// What programs exchange with the host while they run: send and recv with is_host_transfer become HLO's host
// transfers (core/hlo/host_transfer.h); those between devices are collectives (collective.cc). Older ways are
// refused in words, so that who meets one knows what to write instead.
#include "core/hlo/host_transfer.h"

#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// Channel types, as the specification numbers them.
constexpr int64_t kDeviceToDevice = 1, kDeviceToHost = 2, kHostToDevice = 3;

// Whether it is with the host; then the channel's type must be `with_host`, else that between devices.
absl::StatusOr<bool> IsWithHost(const OpImporter& c, int64_t with_host) {
  SHOAL_ASSIGN_OR_RETURN(const bool is_host_transfer, c.BoolOr("is_host_transfer", false));
  const int64_t wanted = is_host_transfer ? with_host : kDeviceToDevice;
  SHOAL_ASSIGN_OR_RETURN(const int64_t type, c.IntOr("channel_type", wanted));
  if (type == wanted) return is_host_transfer;
  return c.Error("C5", absl::StrCat("the channel's type is ", type, ", that of a transfer ",
                                    is_host_transfer ? "with the host" : "between devices", " is ", wanted));
}

}  // namespace

absl::Status ImportFeed(OpImporter& c) {
  return c.NotSupported(
      "there is no infeed or outfeed queue: pass arrays as arguments and results, or use io_callback");
}

absl::Status ImportSend(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, 1));
  if (n == 0 || !c.operand_shape(n - 1).IsToken()) return c.Error("I2", "the last operand is not a token");
  for (size_t i = 0; i + 1 < n; ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  SHOAL_ASSIGN_OR_RETURN(const bool with_host, IsWithHost(c, kDeviceToHost));
  if (!with_host) return ImportSendToDevice(c);
  SHOAL_ASSIGN_OR_RETURN(const int64_t channel, c.Int("channel_id"));
  return c.Emit(Opcode::kCustomCall, c.operands(), HostTransfer(/*sends=*/true, channel));
}

absl::Status ImportRecv(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, -1));
  if (!c.operand_shape(0).IsToken()) return c.Error("I1", "the operand is not a token");
  if (c.op().results.empty()) return c.Error("there is no result: a token is the last one");
  for (size_t i = 0; i < c.op().results.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Shape shape, c.ResultShape(i));
    const bool last = i + 1 == c.op().results.size();
    if (last ? !shape.IsToken() : !shape.IsArray())
      return c.Error(
          absl::StrCat("result ", i, " is ", shape.ToString(), ": arrays come first, a token last"));
  }
  SHOAL_ASSIGN_OR_RETURN(const bool with_host, IsWithHost(c, kHostToDevice));
  if (!with_host) return ImportRecvFromDevice(c);
  SHOAL_ASSIGN_OR_RETURN(const int64_t channel, c.Int("channel_id"));
  return c.Emit(Opcode::kCustomCall, c.operands(), HostTransfer(/*sends=*/false, channel));
}

}  // namespace shoal
