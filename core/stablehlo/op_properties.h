// How an operation's properties stand in bytecode of version 5 and later: the attributes in alphabetical
// order, each an index into the attribute table; an optional one with a flag that says whether it is there.
#pragma once

#include "absl/strings/string_view.h"

namespace shoal {

// The names for the operation `full_name` ("vhlo.dot_general_v2"), separated by blanks, optional ones with a
// '?' behind. Null data if the operation has no properties that Shoal knows of.
absl::string_view PropertyNames(absl::string_view full_name);

}  // namespace shoal
