"""Operations of random programs that hold programs themselves: loops, branches, reducers, and JAX's transformations."""

import jax
import jax.numpy as jnp
from jax import lax

from random_program import Draft, Program, coerce, operation
from random_values import FLOATS, kind

DEEPEST = 2
SMOOTH = {"unary", "binary", "select", "broadcast", "reshape", "transpose", "reverse", "slice_", "pad", "concatenate",
          "roll", "dynamic_slice", "dynamic_update_slice", "reduce", "cumulative", "reduce_window", "dot", "convolution", "take",
          "take_along", "take_pairs", "raw_gather", "raw_scatter", "update_at", "slices", "sort", "scan", "branch", "fft"}


def region(draft, avals, count, accept=lambda name: True):
    """A function of values of these avals, that gives the last value that it makes."""
    inner = Draft(draft.source, avals, draft.depth + 1)
    inner.grow(count, accept)
    last = len(inner.avals) - 1
    program = Program([], inner.nodes, [last])
    return lambda *values: program.run(*values)[0]


def body(draft, avals, count=None):
    """A function of values of these avals, that gives one of the first's shape and type."""
    f, first = region(draft, avals, draft.source.randint(1, 4) if count is None else count), avals[0]

    def step(*values):
        made = coerce(f(*values), first.shape, first.dtype)
        # Bounded, so that loops do not run away.
        return jnp.tanh(made) if kind(first.dtype) == "float" else made

    return step


def deep(draft):
    return draft.depth >= DEEPEST


@operation(2)
def scan(draft):
    if deep(draft):
        return None
    c, xs = draft.pick(lambda a: kind(a.dtype) != "complex"), draft.pick(lambda a: a.shape)
    x = jax.ShapeDtypeStruct(draft.avals[xs].shape[1:], draft.avals[xs].dtype)
    step, out = body(draft, [draft.avals[c], x]), region(draft, [draft.avals[c], x], 1)
    which = draft.source.randrange(2)
    options = dict(reverse=draft.source.chance(0.3), unroll=draft.source.choice([1, 1, 1, 2, 3]))
    return (c, xs), lambda c, xs: lax.scan(lambda c, x: (step(c, x), out(c, x)), c, xs, **options)[which]


@operation(2)
def loop(draft):
    if deep(draft):
        return None
    c, other, trips = draft.pick(), draft.pick(), draft.source.randint(0, 6)
    step = body(draft, [draft.avals[c], draft.avals[other], jax.ShapeDtypeStruct((), jnp.int32)])
    if draft.source.chance(0.5):
        return (c, other), lambda c, other: lax.fori_loop(0, trips, lambda i, c: step(c, other, i), c)
    n = draft.fresh((), "int32")
    # The condition reads a value of the program; the counter bounds it.
    return (c, other, n), lambda c, other, n: lax.while_loop(
        lambda s: (s[0] < 5) & (s[0] < jnp.abs(n)), lambda s: (s[0] + 1, step(s[1], other, s[0])), (jnp.int32(0), c))[1]


@operation(2)
def branch(draft):
    if deep(draft):
        return None
    x, y = draft.pick(), draft.pick()
    cases = [body(draft, [draft.avals[x], draft.avals[y]]) for _ in range(draft.source.randint(1, 3))]
    i = draft.like(x, shape=(), dtype="int32")
    return (i, x, y), lambda i, x, y: lax.switch(i, cases, x, y)


@operation(2)
def called(draft):
    if deep(draft):
        return None
    x, y = draft.pick(), draft.pick()
    f = region(draft, [draft.avals[x], draft.avals[y]], draft.source.randint(1, 4))
    wrap = draft.source.choice([jax.jit, jax.checkpoint])
    return (x, y), lambda x, y: wrap(f)(x, lax.optimization_barrier(y))


@operation(3)
def batched(draft):
    """A region under vmap: its first parameter is a row of x."""
    if deep(draft):
        return None
    x, y = draft.pick(lambda a: a.shape), draft.pick()
    d = draft.source.randrange(len(draft.avals[x].shape))
    row = jax.ShapeDtypeStruct(draft.avals[x].shape[:d] + draft.avals[x].shape[d + 1:], draft.avals[x].dtype)
    f = region(draft, [row, draft.avals[y]], draft.source.randint(1, 3))
    return (x, y), lambda x, y, out=draft.source.choice([0, -1]): jax.vmap(f, (d, None), out)(x, y)


@operation(4)
def gradient(draft):
    if deep(draft):
        return None
    x, y = draft.pick(lambda a: a.dtype in FLOATS), draft.pick(lambda a: kind(a.dtype) != "complex")
    f = region(draft, [draft.avals[x], draft.avals[y]], draft.source.randint(1, 4), lambda name: name in SMOOTH)
    loss = lambda x, y: jnp.sum(jnp.real(f(x, y).astype(jnp.promote_types(f(x, y).dtype, "float32"))))  # noqa: E731
    if draft.source.chance(0.2):
        return (x, y), lambda x, y: jax.jvp(lambda x: f(x, y), (x,), (jnp.ones_like(x),))[1]
    return (x, y), lambda x, y: jax.grad(loss)(x, y)


@operation(1)
def pair_reduce(draft):
    """A reduction of two arrays by a function of pairs: the largest and where it stands."""
    x = draft.pick(lambda a: a.shape and kind(a.dtype) in ("float", "int", "uint"))
    if x is None:
        return None
    d = draft.source.randrange(len(draft.avals[x].shape))
    if draft.avals[x].shape[d] == 1:  # jaxlib forgets the initial value
        return None

    def larger(a, b):
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

    which, low = draft.source.randrange(2), draft.like(x, shape=())
    # NaN has no order: none comes in.
    clean = lambda v: jnp.nan_to_num(v) if kind(v.dtype) == "float" else v  # noqa: E731
    return (x, low), lambda x, low: lax.reduce(
        (clean(x), lax.broadcasted_iota("int32", x.shape, d)), (clean(low), jnp.int32(1 << 30)), larger, (d,))[which]


@operation(1)
def associative(draft):
    x = draft.pick(lambda a: a.shape and kind(a.dtype) != "bool")
    f = draft.source.choice([jnp.add, jnp.multiply])
    return (x,), lambda x, back=draft.source.chance(0.3): lax.associative_scan(f, x, reverse=back)
