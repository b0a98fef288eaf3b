#include "collectives/communicator/group_view.h"

#include <numeric>
#include <utility>

namespace shoal {

GroupView::GroupView(std::vector<PartitionId> group, absl::Span<const DeviceId> assignment,
                     const Topology& topology)
    : partitions(std::move(group)) {
  for (int r = 0; r < ranks(); ++r) {
    const ProcessId process = topology.ProcessOf(assignment[partitions[r].value()]);
    const auto it = std::find(processes.begin(), processes.end(), process);
    process_of.push_back(static_cast<int>(it - processes.begin()));
    if (it == processes.end()) {
      processes.push_back(process);
      members_of.push_back(0);
    }
    member_of.push_back(members_of[process_of[r]]++);
    if (process == topology.self) local_ranks.push_back(r);
  }
  std::vector<int> first_of(processes.size());  // packed_of its first member, by process rank
  std::exclusive_scan(members_of.begin(), members_of.end(), first_of.begin(), 0);
  for (int r = 0; r < ranks(); ++r) packed_of.push_back(first_of[process_of[r]] + member_of[r]);
  std::vector<HostId> hosts;
  for (ProcessId process : processes) {
    const HostId host = topology.process(process).host;
    const auto it = std::find(hosts.begin(), hosts.end(), host);
    host_of.push_back(static_cast<int>(it - hosts.begin()));
    if (it == hosts.end()) hosts.push_back(host);
  }
  const auto here = std::find(processes.begin(), processes.end(), topology.self);
  self = static_cast<int>(here - processes.begin());
}

}  // namespace shoal
