// The arithmetic of windows that convolution, reduce-window and select-and-scatter share.
#pragma once

#include "core/ops/op_check.h"

namespace shoal {

// How many positions window dimension `w` has over `size` elements: 0 if it does not fit at all.
// REQUIRES: CheckWindowDimension passed.
int64_t WindowPositions(int64_t size, const WindowDimension& w);

// Labels of the constraints that stride, base dilation and window dilation are positive.
struct WindowLabels {
  absl::string_view stride, base_dilation, window_dilation;
};
// Strides and dilations are positive, the window's size is not negative, and nothing is so big that it
// overflows.
absl::Status CheckWindowDimension(const OpView& op, const WindowDimension& w, const WindowLabels& labels);

}  // namespace shoal
