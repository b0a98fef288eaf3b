// The LAPACK and BLAS of this machine, loaded when the first program asks for them: OpenBLAS, or the
// reference library that Debian's liblapack3 installs.
//
// Thread-safe. What is loaded stays for the life of the process.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"

namespace shoal {

// A routine of Fortran's calling convention: everything by reference, and the lengths of the strings at the
// end.
class LapackRoutine {
 public:
  // "dgetrf"; Unavailable says which libraries were tried and what would install one.
  static absl::StatusOr<LapackRoutine> Find(const std::string& name);

  // Pointers go as they are, scalars by their addresses.
  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    using Function = void (*)(decltype(Reference(arguments))..., size_t, size_t, size_t, size_t);
    // No routine has more than four strings, all of one letter; it does not look at lengths that it does not
    // expect.
    reinterpret_cast<Function>(symbol_)(Reference(arguments)..., 1, 1, 1, 1);
  }

 private:
  explicit LapackRoutine(void* symbol) : symbol_(symbol) {}

  template <typename T>
  static auto Reference(T& argument) {
    if constexpr (std::is_pointer_v<T>) {
      return argument;
    } else {
      return &argument;
    }
  }

  void* symbol_;
};

}  // namespace shoal
