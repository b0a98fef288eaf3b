// The same placement written over another mesh of the same devices.
//
//   mesh a=8 in order 0..7; [{b}] over mesh b=4, c=2 of the same order  ==  [{a:(1)4}] over a
//   [{d0}, {d1}] over a mesh d0=2, d1=4 of devices 0 2 4 6 1 3 5 7      ==  [{a:(4)2}, {a:(1)4}] over a
#pragma once

#include <memory>
#include <optional>

#include "core/hlo/sharding.h"

namespace shoal {

// `sharding` over `mesh`, or nothing if its parts are not parts of `mesh`'s axes (another number of devices,
// an unrelated order). Openness and priorities are kept. A sharding without a mesh, or over a maximal one,
// becomes the replicated one.
std::optional<Sharding> Rebase(const Sharding& sharding, const std::shared_ptr<const Mesh>& mesh);

}  // namespace shoal
