// GroupView: a group of a collective's partitions, seen from one process: who its members are, in which
// process and on which host each lives. A value.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "core/base/ids.h"
#include "core/base/topology.h"

namespace shoal {

struct GroupView {
  std::vector<PartitionId> partitions;  // by rank
  std::vector<ProcessId> processes;     // that have members, by first appearance; process ranks count in it
  std::vector<int> process_of;          // process rank, by rank
  std::vector<int> member_of;           // position among its process's members, by rank
  std::vector<int> local_ranks;         // ranks of this process's members, ascending; "member" counts in it
  std::vector<int> members_of;          // how many, by process rank
  std::vector<int> packed_of;           // position in the order of (process, rank), by rank
  std::vector<int> host_of;             // by process rank: hosts counted by first appearance
  int self = 0;                         // this process's rank

  // `assignment[p]` is the device that plays partition p.
  GroupView(std::vector<PartitionId> group, absl::Span<const DeviceId> assignment, const Topology& topology);
  int ranks() const { return static_cast<int>(partitions.size()); }
  int hosts() const { return *std::max_element(host_of.begin(), host_of.end()) + 1; }
  int members() const { return static_cast<int>(local_ranks.size()); }
  int most_members() const { return *std::max_element(members_of.begin(), members_of.end()); }
  bool is_packed() const {
    return std::is_sorted(process_of.begin(), process_of.end());
  }  // packed_of[r] is r
  bool IsLocal(int rank) const { return process_of[rank] == self; }
};

}  // namespace shoal
