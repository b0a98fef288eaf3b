// FfiAttributes: the attributes of one call site as XLA_FFI_Attrs, made from the MLIR text of the dictionary.
//
//   {alpha = 5.0e-01 : f64, name = "x", sizes = array<i64: 1, 2>, flag = true, inner = {a = 1 : ui8}}
//
// Numbers and booleans are scalars; dense arrays and dense elements are arrays, row-major; dictionaries nest.
// Anything else is InvalidArgument by its name. Owns all that it points to; does not change.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/ffi/api/c_api.h"

namespace shoal {

class FfiAttributes {
 public:
  // An empty text has no attributes.
  static absl::StatusOr<FfiAttributes> Parse(absl::string_view dictionary);
  FfiAttributes(FfiAttributes&&) noexcept;
  FfiAttributes& operator=(FfiAttributes&&) noexcept;
  ~FfiAttributes();

  // The handler may read it until this object goes.
  const XLA_FFI_Attrs& attrs() const;

 private:
  struct Nodes;
  FfiAttributes();
  std::unique_ptr<Nodes> nodes_;
};

}  // namespace shoal
