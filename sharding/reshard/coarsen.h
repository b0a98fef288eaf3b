// Coarsen: two layouts written with as few parts of axes as a search between them needs, so that its work
// does not grow with the number of devices. Atoms that follow one another in every list become one part
// again:
//
//   mesh x=4096    [{x0..x11}] to [{}, {x0..x11}]:  [{x}] to [{}, {x}]
//
// but a part is cut where its beginning or its end is as large as another part, which it may change places
// with:
//
//   mesh x=4, y=2    [{x0,x1},{y}] to [{y},{x0,x1}]:  stays as it is, for x:(2)2 can go where y was
#pragma once

#include "sharding/spec/layout.h"

namespace shoal {

struct CoarseLayouts {
  Layout from, to;
  AxisList free;  // all parts of the mesh but `fixed`, those of the layouts written as there
};

CoarseLayouts Coarsen(const Mesh& mesh, const Layout& from, const Layout& to, const AxisList& fixed);

// With atoms again.
Layout Refined(const Layout& layout);

}  // namespace shoal
