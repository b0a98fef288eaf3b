// XLA's own switches for dumps, as people give them to one program:
//
//   jax.jit(f, compiler_options={"xla_dump_to": DIR, "xla_dump_hlo_as_proto": True})
//
// writes the optimised program as DIR/module_<number>.<name>.cpu_after_optimizations with .txt, which is HLO
// text and left out if only a proto is asked for, and .hlo.pb, an HloProto. SHOAL_DUMP shows every stage of
// every program.
#pragma once

#include "plugin/client/executable.h"

namespace shoal {

// Does nothing if the executable's options do not ask for it; what cannot be written is a warning.
// Thread-safe.
void DumpForXlaOptions(const PjRtExecutable& executable);

}  // namespace shoal
