#include "core/ops/window.h"

#include <cstdlib>

namespace shoal {
namespace {

// Sizes multiply by dilations once: 2^62 at most.
constexpr int64_t kMaxField = int64_t{1} << 31;

int64_t Dilated(int64_t size, int64_t dilation) { return size == 0 ? 0 : (size - 1) * dilation + 1; }

}  // namespace

int64_t WindowPositions(int64_t size, const WindowDimension& w) {
  const int64_t padded = w.padding_low + Dilated(size, w.base_dilation) + w.padding_high;
  const int64_t window = Dilated(w.size, w.window_dilation);
  return padded <= 0 || window > padded ? 0 : (padded - window) / w.stride + 1;
}

absl::Status CheckWindowDimension(const OpView& op, const WindowDimension& w, const WindowLabels& labels) {
  SHOAL_OP_CHECK(op, labels.stride, w.stride > 0, "stride ", w.stride);
  SHOAL_OP_CHECK(op, labels.base_dilation, w.base_dilation > 0, "base dilation ", w.base_dilation);
  SHOAL_OP_CHECK(op, labels.window_dilation, w.window_dilation > 0, "window dilation ", w.window_dilation);
  SHOAL_OP_CHECK(op, "H1", w.size >= 0, "window of size ", w.size);
  for (int64_t field : {w.size, w.stride, w.base_dilation, w.window_dilation, w.padding_low, w.padding_high})
    SHOAL_OP_CHECK(op, "H1", field <= kMaxField && field >= -kMaxField, "window field ", field,
                   " is too big");
  return absl::OkStatus();
}

}  // namespace shoal
