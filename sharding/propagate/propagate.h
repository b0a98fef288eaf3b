// Propagation: gives every array of a program a sharding, from those that the user wrote.
//
//   before: parameter [{x},{}], dot(parameter, [{},{y}]), add, ...     nothing is said of the others
//   after:  dot [{x},{y}], add [{x},{y}], ...                          all dimensions closed
//
// Shardy's order: user priorities first; within one, operations that only pass shardings through before those
// that contract or broadcast; within that, the basic strategy before the aggressive one. What a user wrote is
// never changed, except that open dimensions grow. Deterministic.
//
// Calls are inlined on the way. All shardings come out over one mesh, which is the first that the program
// names (others are rewritten over it); entry parameters and results whose own mesh cannot be rewritten keep
// it, and are resharded at the border.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// Where no sharding is given, may the compiler choose one? One a parameter or result leaf; one entry stands
// for all, none means no: what has no sharding is then replicated.
struct PropagationOptions {
  std::vector<bool> choose_parameters;
  std::vector<bool> choose_results;
};

// Afterwards every instruction of the program has a sharding a leaf, and config().result_shardings one a
// result leaf. What is chosen for parameters and results divides them evenly.
absl::Status PropagateShardings(Module& module, const PropagationOptions& options = {});

}  // namespace shoal
