// Stack of every thread that runs what others have written (LAPACK, users' kernels and callbacks), in bytes
// of address space. OpenBLAS's recursive LU takes half a megabyte a level: a matrix of some hundred rows
// overran the four megabytes that oneTBB gives, past the guard page into whatever lay below. The system's
// default does not do either: it is 2 MiB where `ulimit -s` is unlimited.
#pragma once

#include <cstddef>

namespace shoal {

constexpr size_t kThreadStackBytes = size_t{32} << 20;

}  // namespace shoal
