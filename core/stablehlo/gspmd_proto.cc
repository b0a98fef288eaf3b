// Shardings that are written as the bytes of an OpSharding proto instead of a string.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/proto/hlo.pb.h"
#include "core/stablehlo/import_sharding.h"

namespace shoal {
namespace {

enum OpShardingType { kReplicated = 0, kMaximal = 1, kTuple = 2, kTiled = 3, kManual = 4, kUnreduced = 6 };

absl::string_view Word(int type) {
  switch (type) {
    case kReplicated:
      return "replicated";
    case kManual:
      return "manual";
    case kUnreduced:
      return "unreduced";
    default:
      return "unknown";
  }
}

std::string TilesText(const wire::OpShardingProto& proto) {
  std::string text = absl::StrCat("{devices=[", absl::StrJoin(proto.tile_assignment_dimensions(), ","), "]");
  if (proto.iota_reshape_dims_size() > 0) {
    absl::StrAppend(&text, "<=[", absl::StrJoin(proto.iota_reshape_dims(), ","), "]T(",
                    absl::StrJoin(proto.iota_transpose_perm(), ","), ")");
  } else {
    absl::StrAppend(&text, absl::StrJoin(proto.tile_assignment_devices(), ","));
  }
  if (proto.replicate_on_last_tile_dim()) absl::StrAppend(&text, " last_tile_dim_replicate");
  if (proto.last_tile_dims_size() > 0) {
    absl::StrAppend(&text, " last_tile_dims={",
                    absl::StrJoin(proto.last_tile_dims(), ", ",
                                  [](std::string* out, int type) { absl::StrAppend(out, Word(type)); }),
                    "}");
  }
  return text + "}";
}

std::string Text(const wire::OpShardingProto& proto) {
  switch (proto.type()) {
    case kMaximal: {
      const int64_t device = proto.tile_assignment_devices_size() > 0 ? proto.tile_assignment_devices(0) : 0;
      return absl::StrCat("{maximal device=", device, "}");
    }
    case kTuple:
      return absl::StrCat("{",
                          absl::StrJoin(proto.tuple_shardings(), ", ",
                                        [](std::string* out, const wire::OpShardingProto& element) {
                                          // A tuple's elements are no tuples (HLO's are flat here).
                                          absl::StrAppend(out, element.type() == kTuple ? "" : Text(element));
                                        }),
                          "}");
    case kTiled:
      return TilesText(proto);
    default:
      return absl::StrCat("{", Word(proto.type()), "}");
  }
}

}  // namespace

absl::StatusOr<std::string> GspmdText(absl::string_view written) {
  if (absl::StartsWith(written, "{")) return std::string(written);
  wire::OpShardingProto proto;
  if (!proto.ParseFromArray(written.data(), static_cast<int>(written.size()))) {
    return absl::InvalidArgumentError(
        "a sharding that is neither a string \"{...}\" nor an OpSharding proto");
  }
  return Text(proto);
}

}  // namespace shoal
