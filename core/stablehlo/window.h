// Windows as StableHLO writes them: one list a property.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/attributes.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// The names of the attributes that hold the lists; a null name: the property has its default everywhere.
struct WindowNames {
  absl::string_view strides = "window_strides";
  absl::string_view padding = "padding";  // pairs, low and high
  absl::string_view base_dilations;
  absl::string_view window_dilations;
  absl::string_view reversal;
};

// The window of the operation, with these sizes.
absl::StatusOr<Window> WindowOf(const OpImporter& c, const IntVector& sizes, const WindowNames& names);
// The highest precision that the operation asks for.
absl::StatusOr<Precision> PrecisionOf(const OpImporter& c);

}  // namespace shoal
