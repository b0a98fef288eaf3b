// XLA_FFI_Api: the functions that handlers call back, as XLA's header orders them. The library exports the
// table as XLA_FFI_GetApi, so that whoever loads it can register handlers and types.
#pragma once

#include "xla/ffi/api/c_api.h"

namespace shoal {

const XLA_FFI_Api* FfiApi();

}  // namespace shoal
