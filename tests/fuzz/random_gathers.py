"""Gathers and scatters of random programs: those of jnp's indexing, and raw ones with random dimension numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from random_program import operation
from random_values import kind

MODES = [lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP]


def indices(draft, shape, bound):
    """Indices, most of them in range; of any integer type that holds the bound: jaxlib computes bounds in the type of the
    indices, and then writes where nobody asked it to."""
    s = draft.source
    dtype = s.choice(["int32", "int32", "int64", "int8", "uint8", "uint32"] if bound < 128 else ["int32", "int64", "uint32"])
    low, high = (0 if dtype[0] == "u" else -2, bound + 2) if s.chance(0.5) else (0, max(1, bound))
    return draft.fresh(tuple(shape), dtype, np.asarray(np.clip(s.numbers.integers(low, high, shape), -100, 120), dtype))


@operation(4)
def take(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    d = s.randrange(len(draft.avals[x].shape))
    i = indices(draft, s.shape(s.choice([0, 1, 1, 2])), draft.avals[x].shape[d])
    return (x, i), lambda x, i, mode=s.choice(["clip", "fill", "wrap"]): jnp.take(x, i, axis=d, mode=mode)


@operation(3)
def take_along(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    shape, d = list(draft.avals[x].shape), s.randrange(len(draft.avals[x].shape))
    bound, shape[d] = shape[d], s.choice([1, 2, 5])
    return (x, indices(draft, shape, bound)), lambda x, i: jnp.take_along_axis(x, i, axis=d)


@operation(3)
def take_pairs(draft):
    x = draft.pick(lambda aval: len(aval.shape) > 1)
    if x is None:
        return None
    a, *_, b = draft.avals[x].shape
    shape = draft.source.shape(1)
    return (x, indices(draft, shape, a), indices(draft, shape, b)), lambda x, i, j: x[i, ..., j]


@operation(3)
def update_at(draft):
    """x.at[i].add and its like; `set` only where no index comes twice."""
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    n = draft.avals[x].shape[0]
    how = s.choice(["add", "mul", "min", "max", "set"])
    if how == "set":
        picked = np.asarray(s.sample(range(n), s.randint(0, n)), np.int32)
        i = draft.fresh(picked.shape, "int32", picked)
    else:
        i = indices(draft, s.shape(1), n)
    u = draft.like(x, shape=(*draft.avals[i].shape, *draft.avals[x].shape[1:]))
    return (x, i, u), lambda x, i, u, mode=s.choice(["drop", "clip"] if how != "set" else ["drop"]): getattr(
        x.at[i], how)(u, mode=mode)


@operation(2)
def slices(draft):
    """Windows at random places: dynamic_slice under vmap, and the updates that undo it."""
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    sizes = [s.randint(min(1, n), n) for n in draft.avals[x].shape]
    i = indices(draft, (s.choice([1, 3, 6]), len(sizes)), max(draft.avals[x].shape))
    if s.chance(0.5):
        return (x, i), lambda x, i: jax.vmap(lambda at: lax.dynamic_slice(x, list(at), sizes))(i)

    def doubled(x, at):
        return lax.dynamic_update_slice(x, lax.dynamic_slice(x, at, sizes) * 2, at)

    return (x, i), lambda x, i: jax.vmap(lambda at: doubled(x, list(at)))(i)


def dimension_numbers(draft, shape):
    """Of a raw gather: (slice sizes, offset, collapsed, operand batching, start indices batching, start index map, shape
    of the indices). Scatter's are the same under other names."""
    s, rank = draft.source, len(shape)
    sizes = [s.randint(min(1, n), n) for n in shape]
    dims = s.sample(range(rank), rank)
    batching = sorted(dims[:s.choice([0, 0, 0, 1])])
    collapsed = sorted(d for d in dims[len(batching):] if s.chance(0.4))
    for d in batching + collapsed:
        sizes[d] = min(1, shape[d])
    mapped = [d for d in dims[len(batching):] if s.chance(0.7)]
    batch = [s.choice([1, 2, 3, 5]) for _ in range(s.choice([0, 1, 1, 2]))]
    indices_batching = []
    if batching:  # its length is the operand's
        at = s.randint(0, len(batch))
        batch.insert(at, shape[batching[0]])
        indices_batching = [at]
    offsets = rank - len(batching) - len(collapsed)
    offset = sorted(s.sample(range(offsets + len(batch)), offsets))
    return sizes, offset, collapsed, batching, indices_batching, mapped, [*batch, len(mapped)]


@operation(4)
def raw_gather(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    sizes, offset, collapsed, batching, indices_batching, mapped, shape = dimension_numbers(draft, draft.avals[x].shape)
    dnums = lax.GatherDimensionNumbers(*map(tuple, (offset, collapsed, mapped, batching, indices_batching)))
    i = indices(draft, shape, max(draft.avals[x].shape))
    return (x, i), lambda x, i, mode=s.choice(MODES): lax.gather(x, i, dnums, sizes, mode=mode)


@operation(4)
def raw_scatter(draft):
    x, s = draft.pick(lambda aval: aval.shape and kind(aval.dtype) != "bool"), draft.source
    shape_x = draft.avals[x].shape
    sizes, window, inserted, batching, indices_batching, mapped, shape = dimension_numbers(draft, shape_x)
    if not mapped:  # jaxlib keeps one of several updates of one place
        return None
    dnums = lax.ScatterDimensionNumbers(*map(tuple, (window, inserted, mapped, batching, indices_batching)))
    batch, kept = iter(shape[:-1]), iter(n for d, n in enumerate(sizes) if d not in inserted and d not in batching)
    updates = [next(kept) if d in window else next(batch) for d in range(len(window) + len(shape) - 1)]
    f = s.choice([lax.scatter_add, lax.scatter_min, lax.scatter_max, lax.scatter_mul])
    if kind(draft.avals[x].dtype) == "complex":
        f = s.choice([lax.scatter_add, lax.scatter_mul])
    return (x, indices(draft, shape, max(shape_x)), draft.like(x, shape=updates)), lambda x, i, u, mode=s.choice(
        MODES): f(x, i, u, dnums, mode=mode)
