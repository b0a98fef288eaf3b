// Windows as StableHLO writes them: one list a property.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/attributes.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// An attribute that holds a list, and the label of the constraint on its size. No name: the property has its
// default everywhere.
struct WindowList {
  absl::string_view name, label;
};
struct WindowNames {
  WindowList strides;
  WindowList padding;  // pairs, low and high
  WindowList base_dilations;
  WindowList window_dilations;
  WindowList reversal;
};

// The window of the operation, with these sizes.
absl::StatusOr<Window> WindowOf(const OpImporter& c, const IntVector& sizes, const WindowNames& names);
// The highest precision that the operation asks for.
absl::StatusOr<Precision> PrecisionOf(const OpImporter& c);

}  // namespace shoal
