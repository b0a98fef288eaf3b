#include "sharding/reshard/coarsen.h"

#include <algorithm>
#include <set>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "sharding/mesh/axes.h"

namespace shoal {
namespace {

std::vector<const AxisList*> ListsOf(const Layout& from, const Layout& to) {
  std::vector<const AxisList*> lists;
  for (const Layout* layout : {&from, &to}) {
    for (const AxisList& axes : layout->dims) lists.push_back(&axes);
    lists.push_back(&layout->partial);
  }
  return lists;
}

bool Continues(const AxisRef& a, const AxisRef& b) {
  return a.axis == b.axis && a.pre_size * a.size == b.pre_size;
}

// The atoms of both layouts in runs: each follows the one before it in every list that has either.
std::vector<AxisList> RunsOf(absl::Span<const AxisList* const> lists) {
  absl::btree_set<AxisRef> atoms, begins;
  for (const AxisList* list : lists) {
    for (size_t i = 0; i < list->size(); ++i) {
      atoms.insert((*list)[i]);
      if (i == 0 || !Continues((*list)[i - 1], (*list)[i])) begins.insert((*list)[i]);
      // Whoever continues the last one elsewhere does not here.
      const bool ends = i + 1 == list->size() || !Continues((*list)[i], (*list)[i + 1]);
      if (!ends) continue;
      for (const AxisList* other : lists) {
        for (const AxisRef& atom : *other) {
          if (Continues((*list)[i], atom)) begins.insert(atom);
        }
      }
    }
  }
  std::vector<AxisList> runs;
  for (const AxisRef& atom : atoms) {  // sorted: by axis, then from major to minor
    if (runs.empty() || begins.contains(atom) || !Continues(runs.back().back(), atom)) runs.emplace_back();
    runs.back().push_back(atom);
  }
  return runs;
}

// Cuts runs where what is before or after is as large as another run.
std::vector<AxisList> CutAtSizes(const std::vector<AxisList>& runs) {
  std::set<int64_t> sizes;
  for (const AxisList& run : runs) sizes.insert(SizeOf(run));
  std::vector<AxisList> cut;
  for (const AxisList& run : runs) {
    const int64_t whole = SizeOf(run);
    int64_t before = 1;
    cut.emplace_back();
    for (const AxisRef& atom : run) {
      if (before > 1 && (sizes.contains(before) || sizes.contains(whole / before))) cut.emplace_back();
      cut.back().push_back(atom);
      before *= atom.size;
    }
  }
  return cut;
}

}  // namespace

CoarseLayouts Coarsen(const Mesh& mesh, const Layout& from, const Layout& to, const AxisList& fixed) {
  absl::btree_map<AxisRef, AxisRef> part_of;  // by first atom
  AxisList used;
  for (const AxisList& run : CutAtSizes(RunsOf(ListsOf(from, to)))) {
    part_of[run[0]] = Merged(run)[0];
    used.push_back(part_of[run[0]]);
  }
  auto written = [&](const AxisList& atoms) {
    AxisList parts;
    for (const AxisRef& atom : atoms) {
      if (const auto it = part_of.find(atom); it != part_of.end()) parts.push_back(it->second);
    }
    return parts;
  };
  CoarseLayouts coarse{from, to, {}};
  for (Layout* layout : {&coarse.from, &coarse.to}) {
    for (AxisList& axes : layout->dims) axes = written(axes);
    layout->partial = written(layout->partial);
  }
  AxisList all;
  for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis) all.push_back(WholeAxis(mesh, axis));
  coarse.free = Concat(Without(used, fixed), Without(Without(Atoms(all), fixed), used));
  std::sort(coarse.free.begin(), coarse.free.end());
  return coarse;
}

Layout Refined(const Layout& layout) {
  Layout fine = layout;
  for (AxisList& axes : fine.dims) axes = Atoms(axes);
  fine.partial = Atoms(fine.partial);
  std::sort(fine.partial.begin(), fine.partial.end());
  return fine;
}

}  // namespace shoal
