"""The operations of random programs that have no regions of their own; random_regions.py has the others.

Each function gets a Draft and gives (operands, function), or None where it found none that fit. What is drawn may be
refused by JAX: then the draft drops it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from random_program import operation
from random_values import COMPLEX, FLOATS, INTEGERS, TYPES, kind

REAL = [jnp.exp, jnp.exp2, jnp.log, jnp.log1p, jnp.expm1, jnp.sin, jnp.cos, jnp.tan, jnp.arcsin, jnp.arccos, jnp.arctan,
        jnp.sinh, jnp.cosh, jnp.tanh, jnp.arcsinh, jnp.arccosh, jnp.arctanh, lax.logistic, jnp.sqrt, lax.rsqrt, jnp.cbrt,
        lax.erf, lax.erfc, lax.erf_inv, lax.lgamma, lax.digamma, jnp.floor, jnp.ceil, jnp.round, jnp.trunc, lax.abs,
        lax.sign, lax.neg, lax.is_finite, jnp.square, jnp.isnan, jnp.signbit, jax.nn.relu, jax.nn.softplus, jax.nn.gelu,
        lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), lambda x: x ** 3, lambda x: lax.integer_pow(x, -2),
        lambda x: lax.reduce_precision(x, 5, 3), lambda x: jnp.frexp(x)[1], jnp.nan_to_num]
# Not lax.clz: jaxlib's gives -32 for negative numbers inside a fusion.
INTEGRAL = [lax.neg, lax.abs, lax.sign, lax.bitwise_not, lax.population_count, jnp.square, lambda x: x ** 3]
# On the cuts jaxlib takes -0 for 0; Shoal and NumPy do not.
off_cut = lambda f: lambda z: f(jnp.where(z.imag == 0, jnp.abs(z.real) + 0j, z))  # noqa: E731
IMAGINARY = [jnp.conj, jnp.real, jnp.imag, jnp.exp, off_cut(jnp.sqrt), jnp.tanh, jnp.sin, jnp.cos, jnp.abs,
             off_cut(jnp.angle), lax.neg, off_cut(jnp.log), jnp.square]
BINARY_REAL = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.remainder, lax.rem, jnp.maximum, jnp.minimum, jnp.power,
               jnp.arctan2, jnp.nextafter, jnp.hypot, jnp.fmod, jnp.copysign, jnp.logaddexp, jnp.heaviside, lax.complex]
BINARY_INTEGRAL = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or,
                   lax.bitwise_xor, lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic, jnp.floor_divide,
                   jnp.remainder, lax.pow]
BINARY_COMPLEX = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide]
BINARY_BOOL = [jnp.logical_and, jnp.logical_or, jnp.logical_xor, jnp.add, jnp.maximum, jnp.minimum]
COMPARE = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]


@operation(8)
def unary(draft):
    x = draft.pick()
    what = kind(draft.avals[x].dtype)
    table = {"float": REAL, "complex": IMAGINARY, "bool": [jnp.logical_not]}.get(what, INTEGRAL)
    return (x,), draft.source.choice(table)


@operation(10)
def binary(draft):
    x = draft.pick()
    aval = draft.avals[x]
    table = {"float": BINARY_REAL, "complex": BINARY_COMPLEX, "bool": BINARY_BOOL}.get(kind(aval.dtype), BINARY_INTEGRAL)
    f = draft.source.choice(table)
    if draft.source.chance(0.25) and f.__module__ != "jax._src.lax.lax":  # broadcasting
        return (x, draft.like(x, shape=tuple(draft.source.choice([n, 1]) for n in aval.shape[1:]))), f
    return (x, draft.like(x)), f


@operation(3)
def compare(draft):
    x = draft.pick()
    table = COMPARE[:2] if kind(draft.avals[x].dtype) == "complex" else COMPARE
    return (x, draft.like(x)), draft.source.choice(table)


@operation(3)
def select(draft):
    x = draft.pick()
    if draft.source.chance(0.2):
        cases = draft.like(x, dtype="int32")
        return (cases, x, draft.like(x), draft.like(x)), lambda c, *xs: lax.select_n(jnp.clip(c, 0, 2), *xs)
    return (draft.like(x, dtype="bool"), x, draft.like(x)), jnp.where


@operation(2)
def clamp(draft):
    x = draft.of_kind("float", "int", "uint")
    shape = () if draft.source.chance(0.5) else None
    # Bounds are numbers: jaxlib's quick emitters lose a NaN there.
    bound = lambda v: jnp.nan_to_num(v) if kind(v.dtype) == "float" else v  # noqa: E731
    return (draft.like(x, shape=shape), x, draft.like(x, shape=shape)), lambda a, x, b: lax.clamp(bound(a), x, bound(b))


@operation(4)
def convert(draft):
    x = draft.pick()
    return (x,), lambda x, to=draft.source.choice(TYPES): lax.convert_element_type(x, to)


@operation(2)
def bitcast(draft):
    x = draft.of_kind("float", "int", "uint")
    # To integers: a NaN as a float would compare equal to any other. Which NaN an operation makes is nobody's promise.
    one = lambda v: jnp.where(jnp.isnan(v), jnp.nan, v) if kind(v.dtype) == "float" else v  # noqa: E731
    return (x,), lambda x, to=draft.source.choice(INTEGERS): lax.bitcast_convert_type(one(x), to)


@operation(3)
def broadcast(draft):
    x, s = draft.pick(), draft.source
    old = draft.avals[x].shape
    rank = len(old) + s.randint(0, 2)
    places = sorted(s.sample(range(rank), len(old)))
    shape = [s.choice([1, 2, 3, 5]) for _ in range(rank)]
    for n, place in zip(old, places):
        shape[place] = n if n != 1 or s.chance(0.5) else s.choice([1, 4, 7])
    return (x,), lambda x: lax.broadcast_in_dim(x, shape, places)


@operation(4)
def reshape(draft):
    x, s = draft.pick(), draft.source
    left, shape = draft.avals[x].size, []
    while left > 1 and len(shape) < 4:
        shape.append(s.choice([d for d in range(1, left + 1) if left % d == 0][:12] + [left]))
        left //= shape[-1]
    shape = [*shape, left] if left != 1 or s.chance(0.2) else shape
    return (x,), lambda x: lax.reshape(x, shape)


@operation(4)
def transpose(draft):
    x = draft.pick()
    order = draft.source.sample(range(len(draft.avals[x].shape)), len(draft.avals[x].shape))
    return (x,), lambda x: lax.transpose(x, order)


@operation(2)
def reverse(draft):
    x = draft.pick()
    which = [d for d in range(len(draft.avals[x].shape)) if draft.source.chance(0.5)]
    return (x,), lambda x: lax.rev(x, which)


@operation(4)
def slice_(draft):
    x, s = draft.pick(), draft.source
    start = [s.randint(0, n) if s.chance(0.5) else 0 for n in draft.avals[x].shape]
    stop = [s.randint(a, n) if s.chance(0.5) else n for a, n in zip(start, draft.avals[x].shape)]
    step = [s.choice([1, 1, 2, 3]) for _ in start]
    return (x,), lambda x: lax.slice(x, start, stop, step)


@operation(4)
def pad(draft):
    x, s = draft.pick(), draft.source
    config = [(s.choice([0, 0, 1, 2, 5, -1, -2]), s.choice([0, 0, 1, 3, -1]), s.choice([0, 0, 0, 1, 2]))
              for _ in draft.avals[x].shape]
    return (x, draft.like(x, shape=())), lambda x, p: lax.pad(x, p, config)


@operation(4)
def concatenate(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    d = s.randrange(len(draft.avals[x].shape))
    shapes = [[*draft.avals[x].shape] for _ in range(s.randint(1, 3))]
    for shape in shapes:
        shape[d] = s.choice([1, 2, shape[d], 4])
    return (x, *(draft.like(x, shape=shape) for shape in shapes)), lambda *xs: lax.concatenate(xs, d)


@operation(3)
def roll(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    return (x,), lambda x, by=s.randint(-9, 9), d=s.randrange(len(draft.avals[x].shape)): jnp.roll(x, by, d)


def starts(draft, shape):
    """Start indices as scalars, also out of range."""
    dtype = draft.source.choice(["int32", "int32", "int64", "uint8", "int8"])
    return [draft.fresh((), dtype, np.asarray(draft.source.randint(-3, n + 2) % 120, dtype)) for n in shape]


@operation(3)
def dynamic_slice(draft):
    x, s = draft.pick(), draft.source
    sizes = [s.randint(min(1, n), n) for n in draft.avals[x].shape]
    return (x, *starts(draft, sizes)), lambda x, *at: lax.dynamic_slice(x, at, sizes)


@operation(3)
def dynamic_update_slice(draft):
    x, s = draft.pick(), draft.source
    sizes = [s.randint(min(1, n), n) for n in draft.avals[x].shape]
    return (x, draft.like(x, shape=sizes), *starts(draft, sizes)), lambda x, u, *at: lax.dynamic_update_slice(x, u, at)


@operation(4)
def reduce(draft):
    x, s = draft.pick(), draft.source
    axes = tuple(d for d in range(len(draft.avals[x].shape)) if s.chance(0.5))
    what = kind(draft.avals[x].dtype)
    table = [jnp.sum, jnp.prod, jnp.any, jnp.all, jnp.mean]
    table += [jnp.max, jnp.min, jnp.ptp, jnp.std] if what in ("float", "int", "uint") else []
    table += [jnp.bitwise_xor.reduce, jnp.bitwise_and.reduce] if what in ("int", "uint") else []
    f = s.choice(table)
    return (x,), lambda x, keep=s.chance(0.3): f(x, axis=axes, keepdims=keep)


@operation(2)
def reduce_narrow(draft):
    """lax.reduce in the type itself: jnp.sum widens narrow ones. jaxlib forgets the initial value where dimensions are of
    size 1, or none, and takes it once for each piece of one that is longer than 32."""
    x, s = draft.of_kind("float", "int", "uint"), draft.source
    axes = tuple(d for d, n in enumerate(draft.avals[x].shape) if s.chance(0.6) and n != 1)
    if not axes:
        return None
    f = s.choice([lax.add, lax.max, lax.min, lax.mul])
    longest = max(draft.avals[x].shape[d] for d in axes)
    overflows = f is lax.mul and kind(draft.avals[x].dtype) == "float"  # and 0 times that is 0 or NaN, as it is ordered
    if f in (lax.add, lax.mul) and longest > 32 or overflows:
        return (x,), lambda x: lax.reduce(x, np.asarray(f is lax.mul, x.dtype), f, axes)
    return (x, draft.like(x, shape=())), lambda x, init: lax.reduce(x, init, f, axes)


@operation(2)
def arg_reduce(draft):
    x = draft.pick(lambda aval: aval.shape and kind(aval.dtype) != "complex")
    f = draft.source.choice([jnp.argmax, jnp.argmin, jnp.nanargmax])
    return (x,), lambda x, d=draft.source.randrange(len(draft.avals[x].shape)): f(x, axis=d)


@operation(3)
def cumulative(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    table = [lax.cumsum, lax.cumprod, lax.cummax, lax.cummin]
    f = s.choice(table + [lax.cumlogsumexp] if kind(draft.avals[x].dtype) == "float" else table)
    return (x,), lambda x, d=s.randrange(len(draft.avals[x].shape)), back=s.chance(0.4): f(x, axis=d, reverse=back)


@operation(3)
def sort(draft):
    x, s = draft.pick(lambda aval: aval.shape), draft.source
    d = s.randrange(len(draft.avals[x].shape))
    kinds = draft.source.randrange(4)
    if kinds == 0 and kind(draft.avals[x].dtype) != "complex":
        return (x,), lambda x: lax.sort(x, dimension=d)
    if kinds == 1:
        return (x,), lambda x, down=s.chance(0.5): jnp.argsort(x, axis=d, descending=down)
    if kinds == 2:
        return (x,), lambda x, k=s.randint(1, 9), which=s.randrange(2): lax.top_k(x, k)[which]
    others = [draft.like(x, dtype=s.choice(TYPES)) for _ in range(s.randint(1, 2))]
    keys, which = s.randint(1, 1 + len(others)), s.randrange(1 + len(others))
    return (x, *others), lambda *xs: lax.sort(xs, dimension=d, num_keys=keys)[which]


def window(draft, shape):
    s = draft.source
    sizes = [s.choice([1, 1, 2, 3, 5]) for _ in shape]
    strides = [s.choice([1, 1, 2, 3]) for _ in shape]
    padding = [s.choice([(0, 0), (0, 0), (1, 1), (2, 0), (0, 3)]) for _ in shape]
    if s.chance(0.3):
        padding = s.choice(["SAME", "VALID"])
    dilate = lambda: [s.choice([1, 1, 1, 2]) for _ in shape] if s.chance(0.3) else None  # noqa: E731
    return sizes, strides, padding, dilate(), dilate()


@operation(4)
def reduce_window(draft):
    x, s = draft.of_kind("float", "int", "uint", "float"), draft.source
    f = s.choice([lax.add, lax.max, lax.min, lax.mul])
    init = draft.like(x, shape=()) if s.chance(0.3) else None
    at = window(draft, draft.avals[x].shape)
    if init is not None and not draft.avals[x].shape:  # jaxlib forgets the initial value
        return None
    if init is not None:
        return (x, init), lambda x, init: lax.reduce_window(x, init, f, *at)
    zero = {lax.add: 0, lax.mul: 1}.get(f)
    if zero is None:
        info = (jnp.iinfo if kind(draft.avals[x].dtype) != "float" else jnp.finfo)(draft.avals[x].dtype)
        zero = info.min if f is lax.max else info.max
    return (x,), lambda x: lax.reduce_window(x, np.asarray(zero, x.dtype), f, *at)


def tame(v):
    """Finite numbers whose products are: where one overflows it is infinite, and with fused additions or in another order
    it is not."""
    if kind(v.dtype) != "float":
        return v
    most = float(jnp.finfo(v.dtype).max) ** 0.4
    return jnp.where(jnp.isfinite(v), jnp.clip(v, -most, most), v)


@operation(5)
def dot(draft):
    x, s = draft.pick(lambda aval: kind(aval.dtype) != "bool"), draft.source
    aval = draft.avals[x]
    dims = s.sample(range(len(aval.shape)), len(aval.shape))
    batch, contract = dims[:s.randint(0, min(1, len(dims)))], []
    contract = dims[len(batch):len(batch) + s.choice([0, 1, 1, 2])]
    shape = [aval.shape[d] for d in batch + contract] + [s.choice([1, 2, 3, 8, 17]) for _ in range(s.randint(0, 2))]
    order = s.sample(range(len(shape)), len(shape))
    place = [order.index(i) for i in range(len(batch) + len(contract))]
    dnums = ((contract, place[len(batch):]), (batch, place[:len(batch)]))
    wide = s.choice([None, None, {"float": "float32", "int": "int32", "uint": "uint32"}.get(kind(aval.dtype))])
    y = draft.like(x, shape=[shape[i] for i in order])

    return (x, y), lambda x, y: lax.dot_general(tame(x), tame(y), dnums, preferred_element_type=wide, precision="highest")


@operation(5)
def convolution(draft):
    s = draft.source
    rank = s.choice([0, 1, 1, 2, 2, 2, 3])
    groups, per_group, outputs, batch_groups = s.choice([
        (1, 3, 4, 1), (1, 1, 2, 1), (2, 3, 6, 1), (4, 1, 8, 1), (8, 1, 8, 1), (1, 2, 4, 2), (1, 3, 6, 3), (1, 16, 16, 1)])
    space = [s.choice([1, 4, 5, 7, 9, 12]) for _ in range(rank)]
    kernel = [s.choice([1, 2, 3, 3, 5]) for _ in range(rank)]
    lhs = [batch_groups * s.choice([1, 2]), groups * per_group, *space]
    rhs = [outputs, per_group, *kernel]
    orders = [s.sample(range(rank + 2), rank + 2) if s.chance(0.5) else list(range(rank + 2)) for _ in range(3)]
    dnums = lax.ConvDimensionNumbers(*(tuple(o.index(i) for i in range(rank + 2)) for o in orders))
    dtype = s.choice(FLOATS * 2 + ["float32"] * 6 + ["int32", "int8", "complex64"])
    # jaxlib's convolution of floats reads past the array where the padding is negative in front and positive behind.
    padding = [(s.randint(-1, 3), s.randint(-1, 3)) for _ in space]
    padding = [(low, high if low >= 0 or "int" in dtype else min(high, 0)) for low, high in padding]
    options = dict(
        window_strides=[s.choice([1, 1, 2, 3]) for _ in space],
        padding=padding,
        lhs_dilation=[s.choice([1, 1, 1, 2, 3]) for _ in space], rhs_dilation=[s.choice([1, 1, 1, 2]) for _ in space],
        feature_group_count=groups, batch_group_count=batch_groups, dimension_numbers=dnums, precision="highest")
    x = draft.fresh([lhs[i] for i in orders[0]], dtype)
    # Finite: whether infinity times a zero between the elements of a dilated array is NaN, implementations differ about.
    finite = lambda v: jnp.clip(jnp.nan_to_num(v), -9, 9) if kind(v.dtype) == "float" else v  # noqa: E731
    if x is None:
        return None
    w = draft.like(x, shape=[rhs[i] for i in orders[1]])
    return (x, w), lambda x, w: lax.conv_general_dilated(finite(x), finite(w), **options)


@operation(2)
def fft(draft):
    s = draft.source
    types = (jnp.float32, jnp.float64, jnp.complex64, jnp.complex128)
    x = draft.pick(lambda aval: aval.shape and min(aval.shape) > 1 and aval.dtype in types)
    if x is None:
        return None
    real = kind(draft.avals[x].dtype) == "float"
    axes = tuple(range(-s.randint(1, min(3, len(draft.avals[x].shape))), 0))
    f = jnp.fft.rfftn if real else s.choice([jnp.fft.fftn, jnp.fft.ifftn, jnp.fft.irfftn])
    return (x,), lambda x: f(tame(x), axes=axes)


@operation(2)
def linear(draft):
    """Factorizations and solves of matrices that are far from singular."""
    s = draft.source
    n, batch = s.choice([1, 2, 3, 5, 8, 17]), s.choice([(), (), (3,), (2, 2)])
    dtype = s.choice(["float32", "float64", "complex64"])
    a = draft.fresh((*batch, n, n), dtype, np.asarray(s.numbers.standard_normal((*batch, n, n)) * 0.3, dtype))
    b = draft.like(a, shape=(*batch, n, s.choice([1, 4])))
    safe = lambda a: a + 4 * n ** 0.5 * jnp.eye(n, dtype=a.dtype)  # noqa: E731
    square = lambda a: jnp.linalg.cholesky(a @ a.mT.conj() + jnp.eye(n))  # noqa: E731
    solve = [jnp.linalg.solve, lambda a, b: jax.scipy.linalg.cho_solve((square(a), True), b),
             lambda a, b: jnp.linalg.inv(a) @ b, lambda a, b: jnp.linalg.det(a)]
    solve += [lambda a, b, kw=kw: lax.linalg.triangular_solve(a, b, **kw) for kw in (
        dict(left_side=True, lower=True), dict(left_side=True, lower=False, transpose_a=True),
        dict(left_side=True, unit_diagonal=True), dict(left_side=True, lower=True, conjugate_a=True))]
    f = s.choice(solve)
    return (a, b), lambda a, b: f(safe(a), b)


@operation(2)
def made(draft):
    """Values from nothing: iota, eye, random bits."""
    s = draft.source
    shape, dtype, seed = s.shape(s.randint(1, 3)), s.choice(FLOATS + INTEGERS + COMPLEX), s.randrange(1000)
    return (), s.choice([
        lambda: lax.broadcasted_iota(dtype, shape, len(shape) - 1),
        lambda: jnp.eye(*shape[:2], dtype=dtype),
        lambda: jax.random.bits(jax.random.key(seed), shape, "uint32"), lambda: jax.random.normal(jax.random.key(seed), shape),
        lambda: jax.random.randint(jax.random.key(seed), shape, -5, 99, "int32"),
        lambda: jax.random.permutation(jax.random.key(seed), shape[0])])
