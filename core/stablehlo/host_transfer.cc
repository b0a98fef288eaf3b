// What programs exchange with the host while they run. Shoal has one way for that, callbacks; these older
// ones are refused in words, so that who meets one knows what to write instead.
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportFeed(OpImporter& c) {
  return c.NotSupported(
      "there is no infeed or outfeed queue: pass arrays as arguments and results, or use io_callback");
}

absl::Status ImportSendOrRecv(OpImporter& c) {
  return c.NotSupported(
      "there are no channels: use io_callback to reach the host, collective_permute to reach another device");
}

}  // namespace shoal
