// LAPACK for programs whose client has brought none: the targets lapack_<routine>_ffi that JAX writes, served
// by the LAPACK of this machine (library.h), and the kernels beside them (kernels.h).
//
// jaxlib registers its own handlers for them, which come first; so only a program that runs without jaxlib
// gets here: an exported one in a C++ client, say.
#pragma once

namespace shoal {

// Adds the targets to the registry of custom calls, as what is asked last. Once is enough.
void ServeLapack();

}  // namespace shoal
