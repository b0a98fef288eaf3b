// Binding: what a launcher that binds processes to cores leaves idle. Open MPI binds each of one or two
// processes to a single core where nothing else is said, and a program that takes all cores otherwise is then
// slow without a word.
#pragma once

#include <string>

#include "launcher/cluster/cluster.h"

namespace shoal {

// Cores that this process and the launcher's own process (its parent) may use; 0: not known.
struct CoreCounts {
  int own = 0;
  int launcher = 0;
  static CoreCounts OfThisProcess();
};

// A line for the first process of a host of which half or more lies idle; empty where nothing is to be said.
std::string BindingWarning(const Cluster& cluster, const CoreCounts& cores);

}  // namespace shoal
