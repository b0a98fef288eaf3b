// The algebra of axis lists: the part of sharding that is about axes alone, not about arrays. Values and
// functions; thread-safe.
//
// An AxisRef (core/hlo/sharding.h) covers the interval [pre_size, pre_size*size) of its axis: two refs share
// devices' coordinates exactly if these intervals meet. The *atoms* of a list are the same list with every
// part cut into prime factors, so that lists written differently compare element by element:
//
//   mesh x=4:   Atoms([x])  ==  [x:(1)2, x:(2)2]        Merged(that)  ==  [x]
#pragma once

#include <cstdint>

#include "core/hlo/sharding.h"

namespace shoal {

// The whole axis number `axis`.
AxisRef WholeAxis(const Mesh& mesh, int axis);
bool Overlaps(const AxisRef& a, const AxisRef& b);
bool Overlaps(const AxisList& list, const AxisRef& ref);
bool Overlaps(const AxisList& a, const AxisList& b);

// Product of the sizes: how many parts the list makes.
int64_t SizeOf(const AxisList& list);

// Major to minor, each part cut into primes (smallest first, as major); parts of size 1 vanish.
AxisList Atoms(const AxisList& list);
AxisList Atoms(const AxisRef& ref);
// Neighbouring parts that continue each other become one: the printed form.
AxisList Merged(const AxisList& list);

// Of atom lists. The longest list that both begin with; whether `list` begins with `prefix`.
AxisList CommonPrefix(const AxisList& a, const AxisList& b);
bool StartsWith(const AxisList& list, const AxisList& prefix);
bool Contains(const AxisList& list, const AxisRef& atom);
AxisList Concat(const AxisList& a, const AxisList& b);
AxisList Prefix(const AxisList& list, size_t length);
AxisList Suffix(const AxisList& list, size_t from);
// `list` up to the first atom that overlaps `used`.
AxisList PrefixClearOf(const AxisList& list, const AxisList& used);
// `list` without the atoms that overlap `used`, in its order.
AxisList Without(const AxisList& list, const AxisList& used);

}  // namespace shoal
