#include "sharding/mesh/axes.h"

#include <algorithm>

namespace shoal {

AxisRef WholeAxis(const Mesh& mesh, int axis) { return AxisRef{axis, 1, mesh.axes[axis].size}; }

bool Overlaps(const AxisRef& a, const AxisRef& b) {
  if (a.axis != b.axis || a.size == 1 || b.size == 1) return false;
  return std::max(a.pre_size, b.pre_size) < std::min(a.pre_size * a.size, b.pre_size * b.size);
}

bool Overlaps(const AxisList& list, const AxisRef& ref) {
  return std::any_of(list.begin(), list.end(), [&](const AxisRef& a) { return Overlaps(a, ref); });
}

bool Overlaps(const AxisList& a, const AxisList& b) {
  return std::any_of(b.begin(), b.end(), [&](const AxisRef& ref) { return Overlaps(a, ref); });
}

int64_t SizeOf(const AxisList& list) {
  int64_t size = 1;
  for (const AxisRef& ref : list) size *= ref.size;
  return size;
}

AxisList Atoms(const AxisRef& ref) {
  AxisList atoms;
  int64_t pre = ref.pre_size, rest = ref.size;
  for (int64_t prime = 2; rest > 1; ++prime) {
    if (prime * prime > rest) prime = rest;  // what is left is itself prime
    for (; rest % prime == 0; rest /= prime, pre *= prime) atoms.push_back({ref.axis, pre, prime});
  }
  return atoms;
}

AxisList Atoms(const AxisList& list) {
  AxisList atoms;
  for (const AxisRef& ref : list) {
    for (const AxisRef& atom : Atoms(ref)) atoms.push_back(atom);
  }
  return atoms;
}

AxisList Merged(const AxisList& list) {
  AxisList merged;
  for (const AxisRef& ref : list) {
    if (!merged.empty() && merged.back().axis == ref.axis &&
        merged.back().pre_size * merged.back().size == ref.pre_size) {
      merged.back().size *= ref.size;
    } else {
      merged.push_back(ref);
    }
  }
  return merged;
}

AxisList CommonPrefix(const AxisList& a, const AxisList& b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return Prefix(a, n);
}

bool StartsWith(const AxisList& list, const AxisList& prefix) {
  return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

bool Contains(const AxisList& list, const AxisRef& atom) {
  return std::find(list.begin(), list.end(), atom) != list.end();
}

AxisList Concat(const AxisList& a, const AxisList& b) {
  AxisList both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

AxisList Prefix(const AxisList& list, size_t length) {
  return AxisList(list.begin(), list.begin() + static_cast<int64_t>(length));
}

AxisList Suffix(const AxisList& list, size_t from) {
  return AxisList(list.begin() + static_cast<int64_t>(from), list.end());
}

AxisList PrefixClearOf(const AxisList& list, const AxisList& used) {
  size_t n = 0;
  while (n < list.size() && !Overlaps(used, list[n])) ++n;
  return Prefix(list, n);
}

AxisList Without(const AxisList& list, const AxisList& used) {
  AxisList rest;
  for (const AxisRef& ref : list) {
    if (!Overlaps(used, ref)) rest.push_back(ref);
  }
  return rest;
}

}  // namespace shoal
