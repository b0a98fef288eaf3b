// PJRT_Plugin: what the library says of itself before there is a client.
#include "absl/strings/string_view.h"
#include "plugin/api/api.h"

namespace shoal {
namespace {

// The StableHLO versions that core/stablehlo reads: a caller writes what both sides know.
constexpr int64_t kStablehloCurrent[] = {1, 20, 0};
constexpr int64_t kStablehloMinimum[] = {0, 9, 0};

PJRT_NamedValue VersionList(absl::string_view name, const int64_t (&version)[3]) {
  PJRT_NamedValue value = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .extension_start = nullptr,
                           .name = name.data(),
                           .name_size = name.size(),
                           .type = PJRT_NamedValue_kInt64List};
  value.int64_array_value = version;
  value.value_size = 3;
  return value;
}

absl::Status Initialize(PJRT_Plugin_Initialize_Args&) { return absl::OkStatus(); }

// What callers key their saved executables by, beside the platform's version: XLA's plugins have one number
// for all.
PJRT_NamedValue XlaVersion() {
  constexpr absl::string_view kName = "xla_version";
  PJRT_NamedValue value = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = kName.data(),
                           .name_size = kName.size(),
                           .type = PJRT_NamedValue_kInt64};
  value.int64_value = 2;
  value.value_size = 1;
  return value;
}

absl::Status Attributes(PJRT_Plugin_Attributes_Args& args) {
  static const PJRT_NamedValue attributes[] = {XlaVersion(),
                                               VersionList("stablehlo_current_version", kStablehloCurrent),
                                               VersionList("stablehlo_minimum_version", kStablehloMinimum)};
  args.attributes = attributes;
  args.num_attributes = std::size(attributes);
  return absl::OkStatus();
}

}  // namespace

void BindPlugin(PJRT_Api& api) {
  SHOAL_BIND(api, Plugin_Initialize, Initialize);
  SHOAL_BIND(api, Plugin_Attributes, Attributes);
}

}  // namespace shoal
