// Introduction: what a process tells the others of itself, and Introduce, which makes the Topology of all of
// them.
//
// Everybody puts its introduction into the store; process 0 collects them, checks that they agree, decides
// the hosts and the device ids, and publishes the result, or the failure, for all: so everybody has the same
// topology or the same error. Values and one function that waits.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"

namespace shoal {

struct Introduction {
  std::string host_identity;
  std::string host_name;
  int pid = 0;
  int num_devices = 1;
  int process_count = 1;  // that this process believes in

  static Introduction OfThisProcess(int num_devices, int process_count);
};

// Hosts in the order of their first process, device ids dense in process order. REQUIRES: everyone is there,
// by ProcessId.
absl::StatusOr<Topology> Arrange(const std::vector<Introduction>& everyone, absl::string_view job);

// DeadlineExceeded names the processes that did not come within `timeout`; InvalidArgument those that believe
// in another number of processes.
absl::StatusOr<Topology> Introduce(KeyValueStore& store, ProcessId self, const Introduction& mine,
                                   absl::Duration timeout);

}  // namespace shoal
