// Which partition stands where in a mesh, and the groups that a collective along axes has.
//
// A *position* is a row-major index over the mesh's axes; Mesh::device_ids maps positions to partition ids.
// Everything here speaks of partition ids, as HLO's replica_groups do after import.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/attributes.h"
#include "core/hlo/sharding.h"

namespace shoal {

// The partition at each position.
std::vector<int64_t> Devices(const Mesh& mesh);
// The position of each partition; -1 where a partition is not in the mesh.
std::vector<int64_t> Positions(const Mesh& mesh);

// The coordinate of `position` along a part, and along a list (mixed radix, first part major).
int64_t Coordinate(const Mesh& mesh, int64_t position, const AxisRef& ref);
int64_t Coordinate(const Mesh& mesh, int64_t position, const AxisList& list);

// Partitions that differ only in their coordinate along `axes`, ordered by that coordinate; the groups are
// ordered by their smallest position. mesh x=2, y=3: along y {{0,1,2},{3,4,5}}, along x {{0,3},{1,4},{2,5}}.
Groups GroupsAlong(const Mesh& mesh, const AxisList& axes);

}  // namespace shoal
