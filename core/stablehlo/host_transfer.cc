// What programs exchange with the host while they run: send and recv with is_host_transfer become HLO's host
// transfers (core/hlo/host_transfer.h). Older ways are refused in words, so that who meets one knows what to
// write instead.
#include "core/hlo/host_transfer.h"

#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// Channel types, as the specification numbers them.
constexpr int64_t kDeviceToHost = 2, kHostToDevice = 3;

// The channel of a transfer with the host, whose type must be `wanted`.
absl::StatusOr<int64_t> HostChannelOf(const OpImporter& c, int64_t wanted) {
  SHOAL_ASSIGN_OR_RETURN(const bool is_host_transfer, c.BoolOr("is_host_transfer", false));
  SHOAL_ASSIGN_OR_RETURN(const int64_t type, c.IntOr("channel_type", wanted));
  if (!is_host_transfer) {
    return c.NotSupported("it is between devices, not with the host: use collective_permute instead");
  }
  if (type != wanted) {
    return c.Error("C5", absl::StrCat("the channel's type is ", type,
                                      ", that of this transfer with the host is ", wanted));
  }
  return c.Int("channel_id");
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
  SHOAL_ASSIGN_OR_RETURN(const int64_t channel, HostChannelOf(c, kDeviceToHost));
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
  SHOAL_ASSIGN_OR_RETURN(const int64_t channel, HostChannelOf(c, kHostToDevice));
  return c.Emit(Opcode::kCustomCall, c.operands(), HostTransfer(/*sends=*/false, channel));
}

}  // namespace shoal
