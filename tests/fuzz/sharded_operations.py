"""The operations of random sharded programs: a weight, and a function of the Generator that gives an expression.

Expressions are Python text over names of the program. An operation that fits nothing raises Skip.
"""

import numpy as np


def unary(g):
    x = g.pick()
    if g.dtype == "int32":
        return g.rng.choice(["-{0}", "abs({0})", "{0} * {0}", "{0} ^ 5", "jnp.clip({0}, -2, 9)", "{0} // 3", "jnp.where({0} > 2, {0}, 1)"]).format(x)
    if g.dtype == "complex64":
        return g.rng.choice(["-{0}", "{0}.conj()", "{0} * 1j", "{0}.real + 0j", "{0} * {0} / (1 + abs({0}))"]).format(x)
    return g.rng.choice(["-{0}", "jnp.tanh({0})", "jnp.sin({0})", "jnp.exp(-{0} * {0})", "jax.nn.relu({0})", "jnp.where({0} > 0, {0}, {0} * 0.5)",
                         "jnp.clip({0}, -1, 1)", "abs({0})", "lax.optimization_barrier({0})", "jax.nn.sigmoid({0})"]).format(x)


def binary(g):
    x = g.pick()
    y = g.like(g.shape(x))
    ops = ["{0} + {1}", "{0} - {1}", "{0} * {1}"]
    if g.dtype == "int32":
        ops += ["jnp.maximum({0}, {1})", "{0} & {1}", "jnp.where({0} < {1}, {0}, {1} + 1)"]
    elif g.is_float():
        ops += ["jnp.maximum({0}, {1})", "jnp.minimum({0}, {1})", "{0} / (1 + abs({1}))", "jnp.where({0} < {1}, {0}, {1})"]
    return g.rng.choice(ops).format(x, y)


def broadcast(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    n = g.shape(x)[d]
    row = g.like((n,))
    index = ", ".join(":" if i == d else "None" for i in range(len(g.shape(x))))
    return f"{x} {g.rng.choice('+-*')} {row}[{index}]"


def outer(g):
    x, y = g.pick(rank=1), g.pick(rank=1)
    g.need(len(g.shape(x)) + len(g.shape(y)) <= 4)
    return f"jnp.tensordot({x}, {y}, 0)"


def transpose(g):
    x = g.pick(rank=2)
    order = list(range(len(g.shape(x))))
    g.rng.shuffle(order)
    return f"{x}.transpose({order})"


def reshape(g):
    x = g.pick(rank=1)
    shape = list(g.shape(x))
    for _ in range(g.rng.choice([1, 1, 2])):
        if len(shape) > 1 and g.rng.random() < 0.6:
            d = g.rng.randrange(len(shape) - 1)
            shape[d:d + 2] = [shape[d] * shape[d + 1]]
        else:
            d = g.rng.randrange(len(shape))
            divisors = [k for k in range(1, shape[d] + 1) if shape[d] % k == 0]
            k = g.rng.choice(divisors or [1])
            shape[d:d + 1] = [k, shape[d] // k] if shape[d] else [0, 1]
    g.need(len(shape) <= 5)
    return f"{x}.reshape({shape})"


def slice_(g):
    x = g.pick(rank=1)
    parts = []
    for n in g.shape(x):
        if g.rng.random() < 0.4:
            parts.append(":")
            continue
        start = g.rng.randint(0, max(0, n - 1))
        stop = g.rng.randint(min(start + 1, n), n)
        parts.append(f"{start}:{stop}:{g.rng.choice([1, 1, 1, 2, 3])}")
    return f"{x}[{', '.join(parts)}]"


def pad(g):
    x = g.pick(rank=1)
    config = []
    for n in g.shape(x):
        if g.rng.random() < 0.4:
            config.append((0, 0, 0))
            continue
        config.append((g.rng.randint(-(n // 3), 4), g.rng.randint(-(n // 3), 4), g.rng.choice([0, 0, 0, 1, 2])))
    return f"lax.pad({x}, np.array({g.rng.choice([0, 1, 3])}, {x}.dtype), {tuple(config)})"


def concatenate(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    rest = [x]
    for _ in range(g.rng.choice([1, 1, 2])):
        rest.append(g.pick(lambda y: len(y.shape) == len(g.shape(x)) and
                           all(a == b for i, (a, b) in enumerate(zip(y.shape, g.shape(x))) if i != d)))
    g.rng.shuffle(rest)
    return f"jnp.concatenate([{', '.join(rest)}], {d})"


def shift(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    n = g.shape(x)[d]
    kind = g.rng.randrange(3)
    if kind == 0:
        return f"jnp.roll({x}, {g.rng.randint(-n, n)}, {d})"
    if kind == 1:
        return f"jnp.flip({x}, {d})"
    g.need(n >= 3)
    s = ", ".join(["{}"] * len(g.shape(x)))
    at = lambda t: s.format(*(t if i == d else ":" for i in range(len(g.shape(x)))))
    return f"{x}[{at('2:')}] - 2 * {x}[{at('1:-1')}] + {x}[{at(':-2')}]"


def reduce(g):
    x = g.pick(rank=1)
    r = len(g.shape(x))
    dims = tuple(sorted(g.rng.sample(range(r), g.rng.randint(1, r))))
    n = max(1, int(np.prod([g.shape(x)[d] for d in dims])))
    keep = f", keepdims={g.rng.random() < 0.3}"
    if g.dtype == "complex64":
        return f"{x}.mean({dims}{keep})"
    if g.dtype == "int32":
        return g.rng.choice(["{0}.sum({1}{2})", "{0}.max({1}{2})", "{0}.min({1}{2})", "{0}.prod({1}{2})"]).format(x, dims, keep)
    return g.rng.choice(["{0}.mean({1}{2})", "({0}.sum({1}{2}) / {3})", "{0}.max({1}{2})", "{0}.min({1}{2})", "(1 + {0} * 0.01).prod({1}{2})",
                         "jax.nn.logsumexp({0}, {1}{2})", "{0}.var({1}{2})", "jnp.linalg.norm({0}.ravel()) + {0}.sum({1}{2}) * 0.1"]).format(x, dims, keep, n)


def norm(g):
    g.need(g.is_float())
    x = g.pick(rank=1)
    d = g.dim(x)
    return g.rng.choice(["jax.nn.softmax({0}, {1})", "jax.nn.log_softmax({0}, {1}) * 0.1", "({0} - {0}.mean({1}, keepdims=True)) / (1 + {0}.std({1}, keepdims=True))",
                         "jax.nn.standardize({0}, {1}, epsilon=0.1)"]).format(x, d)


def which(g):
    """What depends on the order of values: exact types only, and doubles."""
    g.need(g.dtype in ("float64", "int32"))
    x = g.pick(rank=1)
    d = g.dim(x)
    n = g.shape(x)[d]
    y = g.like(g.shape(x))
    return g.rng.choice(["jnp.argmax({0}, {1})", "jnp.argmin({0}, {1})", "jnp.sort({0}, {1})", "jnp.sort({0}, {1}, descending=True)", "jnp.argsort({0}, {1})",
                         "lax.sort(({0}, {2}), dimension={1}, num_keys=1)[1]", "lax.sort(({0}, {2}), dimension={1}, num_keys=2)[1]",
                         "lax.top_k(jnp.moveaxis({0}, {1}, -1), {3})[0]", "lax.top_k(jnp.moveaxis({0}, {1}, -1), {3})[1]",
                         "({0} > {2}).any({1})", "({0} > 0).sum({1})", "jnp.median({0}, {1})" if g.dtype == "float64" else "jnp.unique({0}, size=5, fill_value=-9)"]).format(
                             x, d, y, g.rng.randint(1, max(1, n)))


def cumulative(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    n = max(1, g.shape(x)[d])
    reverse = g.rng.random() < 0.3
    if g.dtype == "int32":
        ops = ["lax.cumsum({0}, {1}, {2})", "lax.cummax({0}, {1}, {2})", "lax.cummin({0}, {1}, {2})"]
    elif g.dtype == "complex64":
        ops = ["lax.cumsum({0}, {1}, {2}) / {3}"]
    else:
        ops = ["lax.cumsum({0}, {1}, {2}) / {3}", "lax.cummax({0}, {1}, {2})", "lax.cummin({0}, {1}, {2})", "lax.cumprod(1 + {0} * 0.01, {1}, {2})",
               "lax.cumlogsumexp({0}, {1}, {2}) * 0.3", "lax.associative_scan(jnp.add, {0}, axis={1}, reverse={2}) / {3}", "jnp.diff({0}, axis={1})"]
    return g.rng.choice(ops).format(x, d, reverse, n)


def dot(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    k = g.shape(x)[d]
    y = g.like((k, g.rng.choice([2, 3, 4, 5, 8])) if g.rng.random() < 0.7 else (k,))
    scale = "" if g.dtype == "int32" else f" / {max(1.0, float(k)) ** 0.5:.3f}"
    return f"jnp.tensordot({x}, {y}, (({d},), (0,))){scale}"


def einsum(g):
    x = g.pick(rank=2)
    shape = g.shape(x)
    letters = "abcde"[:len(shape)]
    shared = g.rng.sample(range(len(shape)), g.rng.randint(1, len(shape)))
    y_letters = [letters[i] for i in shared] + (["z"] if g.rng.random() < 0.6 else [])
    sizes = {letters[i]: shape[i] for i in range(len(shape))} | {"z": g.rng.choice([2, 3, 4, 8])}
    g.rng.shuffle(y_letters)
    y = g.like([sizes[c] for c in y_letters])
    contracted = [letters[i] for i in shared if g.rng.random() < 0.5]
    out = [c for c in dict.fromkeys([*letters, *y_letters]) if c not in contracted]
    g.rng.shuffle(out)
    g.need(len(out) <= 4)
    scale = "" if g.dtype == "int32" else f" / {float(np.prod([sizes[c] for c in contracted])) ** 0.5 or 1:.3f}"
    return f"jnp.einsum('{letters},{''.join(y_letters)}->{''.join(out)}', {x}, {y}){scale}"


def gather(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    n = g.shape(x)[d]
    g.need(n > 0)
    kind = g.rng.randrange(6)
    if kind == 0:
        i = g.like((g.rng.choice([1, 3, 4, 8, 12]),), "int32")
        return f"jnp.take({x}, {i} % {n}, {d})"
    if kind == 1:
        i = g.like((g.rng.choice([2, 3]), g.rng.choice([2, 4, 8])), "int32")
        return f"jnp.take({x}, {i}, {d}, mode='{g.rng.choice(['clip', 'wrap'])}')"
    if kind == 2:
        shape = list(g.shape(x))
        shape[d] = g.rng.choice([1, 2, 5, shape[d]])
        i = g.like(shape, "int32")
        return f"jnp.take_along_axis({x}, {i} % {n}, {d})"
    if kind == 3:
        i = g.like((g.rng.choice([2, 4, 6]),), "int32")
        return f"{x}.at[{i}].get(mode='fill', fill_value=7)"
    g.need(len(g.shape(x)) >= 2)
    i = g.like((g.rng.choice([2, 4, 6]),), "int32")
    if kind == 4:
        return f"{x}[{i} % {g.shape(x)[0]}, {i} % {g.shape(x)[1]}]"
    return f"{x}[:, {i} % {g.shape(x)[1]}]"


def scatter(g):
    x = g.pick(rank=1)
    n = g.shape(x)[0]
    g.need(n > 0)
    m = g.rng.choice([1, 3, 4, 8])
    i = g.like((m,), "int32")
    u = g.like((m, *g.shape(x)[1:]))
    kinds = ["add({1})"]
    if g.dtype == "int32":
        kinds += ["max({1})", "min({1})", "mul({1})"]
    elif g.is_float():
        kinds += ["max({1})", "min({1})"]
    text = g.rng.choice(kinds).format(i, u)
    kind = g.rng.randrange(4)
    if kind == 0 and m <= n:
        return f"{x}.at[jnp.arange({m}) * {n // m}].set({u}, unique_indices=True)"
    if kind == 1 and len(g.shape(x)) >= 2:
        u = g.like((m, *g.shape(x)[2:]))
        return f"{x}.at[{i} % {n}, {i}].add({u})"
    if kind == 2 and len(g.shape(x)) >= 2:
        return f"jnp.moveaxis({x}, 0, 1).at[:, {i} % {n}].add(jnp.moveaxis({u}, 0, 1))"
    return f"{x}.at[{i}].{text}"


def dynamic(g):
    x = g.pick(rank=1)
    shape = g.shape(x)
    sizes = [n if g.rng.random() < 0.4 else g.rng.randint(min(n, 1), n) for n in shape]
    i = g.like((len(shape),), "int32")
    starts = ", ".join(f"{i}[{d}]" for d in range(len(shape)))
    if g.rng.random() < 0.5:
        return f"lax.dynamic_slice({x}, ({starts},), {tuple(sizes)})"
    u = g.like(sizes)
    return f"lax.dynamic_update_slice({x}, {u}, ({starts},))"


def window(g):
    g.need(g.dtype != "complex64")
    x = g.pick(lambda x: x.size > 0, rank=1)
    shape = g.shape(x)
    size = tuple(g.rng.choice([1, 1, 2, 3]) for _ in shape)
    strides = tuple(g.rng.choice([1, 1, 2]) for _ in shape)
    padding = tuple((g.rng.choice([0, 0, 1, 2]), g.rng.choice([0, 0, 1, 2])) for _ in shape)
    dilation = tuple(g.rng.choice([1, 1, 1, 2]) for _ in shape)
    kind = g.rng.choice(["max", "add", "min"])
    init = {"max": f"np.array(jnp.iinfo({x}.dtype).min if {x}.dtype == jnp.int32 else -np.inf, {x}.dtype)",
            "min": f"np.array(jnp.iinfo({x}.dtype).max if {x}.dtype == jnp.int32 else np.inf, {x}.dtype)", "add": f"np.array(0, {x}.dtype)"}[kind]
    if g.dtype != "int32" and kind != "add" and any(p > 1 for side in padding for p in side):
        padding = tuple((0, 0) for _ in shape)  # a window of padding alone is infinite
    scale = "" if kind != "add" or g.dtype == "int32" else f" / {int(np.prod(size))}"
    return f"lax.reduce_window({x}, {init}, lax.{kind}, {size}, {strides}, {padding}, window_dilation={dilation}){scale}"


def convolution(g):
    g.need(g.is_float())
    spatial = g.rng.choice([1, 2])
    x = g.pick(lambda x: len(x.shape) == spatial + 2 and x.size > 0)
    n, c, *s = g.shape(x)
    groups = g.rng.choice([k for k in (1, 1, 2, 3, 4, c) if c % k == 0])
    out = groups * g.rng.choice([1, 2, 3])
    batch_groups = 1
    if groups == 1 and g.rng.random() < 0.15:
        batch_groups = g.rng.choice([k for k in (1, 2, 3, 4) if n % k == 0])
        out *= batch_groups
    size = [g.rng.choice([1, 2, 3]) for _ in s]
    k = g.like([out, c // groups, *size])
    strides = tuple(g.rng.choice([1, 1, 2]) for _ in s)
    padding = tuple((g.rng.choice([0, 1, 2]), g.rng.choice([0, 1, 2])) for _ in s)
    lhs, rhs = (tuple(g.rng.choice([1, 1, 1, 2]) for _ in s) for _ in range(2))
    return (f"lax.conv_general_dilated({x}, {k}, {strides}, {padding}, {lhs}, {rhs}, feature_group_count={groups}, "
            f"batch_group_count={batch_groups}) / {float(c // groups * np.prod(size)) ** 0.5:.3f}")


def iota(g):
    x = g.pick(rank=1)
    d = g.dim(x)
    shape = g.shape(x)
    if g.rng.random() < 0.5:
        return f"{x} + lax.broadcasted_iota(jnp.int32, {shape}, {d}).astype({x}.dtype) * {3 if g.dtype == 'int32' else 0.1}"
    if g.dtype == "complex64":
        return f"jnp.where(lax.broadcasted_iota(jnp.int32, {shape}, {d}) % 3 == 1, {x}, 0)"
    g.need(len(shape) >= 2)
    return g.rng.choice([f"jnp.tril({x})", f"jnp.triu({x}, 1)", f"jnp.where(jnp.eye({shape[-2]}, {shape[-1]}, dtype=bool), {x}, 2)"])


def linalg(g):
    g.need(g.dtype == "float64")
    x = g.pick(lambda x: len(x.shape) >= 2 and 0 < x.shape[-1] <= 8)
    n = g.shape(x)[-1]
    spd = f"({x}.swapaxes(-1, -2) @ {x} / {g.shape(x)[-2] or 1} + 2 * jnp.eye({n}))"
    y = g.like([*g.shape(x)[:-2], n, 3])
    return g.rng.choice([f"jnp.linalg.cholesky({spd})", f"jnp.linalg.solve({spd}, {y})", f"lax.linalg.triangular_solve(jnp.linalg.cholesky({spd}), {y}, left_side=True, lower=True)",
                         f"jnp.linalg.inv({spd})", f"jnp.linalg.eigvalsh({spd})", f"jnp.linalg.det({spd}) * 0.01"])


def fft(g):
    g.need(g.dtype in ("complex64", "float64"))
    x = g.pick(lambda x: x.size > 0, rank=1)
    d = g.dim(x)
    n = g.shape(x)[d]
    if g.dtype == "complex64":
        return g.rng.choice([f"jnp.fft.fft({x}, axis={d}) / {n}", f"jnp.fft.ifft({x}, axis={d})", f"jnp.fft.fftn({x}, norm='ortho')" if len(g.shape(x)) <= 3 else f"jnp.fft.fftshift({x}, {d})"])
    return g.rng.choice([f"abs(jnp.fft.rfft({x}, axis={d})) / {n}", f"jnp.fft.irfft({x}, {max(2, n)}, axis={d})", f"jnp.real(jnp.fft.fft({x}, axis={d})) / {n}"])


def random_bits(g):
    g.need(g.dtype in ("float64", "float32"))
    x = g.pick(lambda x: x.size > 0)
    draw = g.rng.choice(["uniform", "normal"])
    return f"{x} + jax.random.{draw}(jax.random.key({g.rng.randrange(9)}), {g.shape(x)}, {x}.dtype)"


def convert(g):
    x = g.pick()
    if g.dtype == "int32":
        return g.rng.choice([f"{x}.astype(jnp.int8).astype(jnp.int32)", f"lax.bitcast_convert_type(lax.bitcast_convert_type({x}, jnp.uint8), jnp.int32)", f"({x} > 3).astype(jnp.int32)",
                             f"lax.population_count({x})"])
    if g.dtype == "complex64":
        return f"lax.complex({x}.imag, {x}.real)"
    return g.rng.choice([f"{x}.astype(jnp.float32).astype({x}.dtype)", f"lax.bitcast_convert_type(lax.bitcast_convert_type({x}, jnp.uint16), {x}.dtype)",
                         f"({x} + 1j * {x}[::-1]).imag" if g.shape(x) else x])


def vmapped(g):
    g.need(g.is_float())
    x = g.pick(rank=2)
    d = g.dim(x)
    return g.rng.choice([f"jax.vmap(lambda r: r - r.mean(), in_axes={d}, out_axes={g.dim(x)})({x})", f"lax.map(lambda r: jnp.tanh(r), {x})",
                         f"jax.vmap(jnp.roll, in_axes=({d}, None))({x}, 1)"])


def manual_region(g):
    g.need(g.depth == 0)
    axis = g.rng.choice(list(g.mesh))
    k = g.mesh[axis]
    x = g.pick(lambda x: any(n and n % k == 0 for n in x.shape), rank=1)
    d = g.rng.choice([i for i, n in enumerate(g.shape(x)) if n and n % k == 0])
    kind = g.rng.choice(["psum", "all_gather", "reduce_scatter", "shift", "shift_no_wrap", "index", "cumsum_parts"])
    return f"M('{kind}', {x}, {d}, '{axis}')"


def loop(g):
    """scan, fori_loop, while and cond with a body of random statements."""
    g.need(g.depth < 2)
    carry = g.pick(lambda x: x.size > 0)
    shape, kind = g.shapes[carry], g.rng.randrange(4)
    number = g.new_name()[1:]
    parameters = {f"c{number}": shape}
    if kind == 0:
        xs = g.pick(lambda x: x.shape and 0 < x.size and x.shape[0] <= 9)
        x = g.shapes[xs]
        parameters[f"x{number}"] = type(x)(x.shape[1:], x.dtype)
    text, names = g.body(parameters, g.rng.choice([1, 2, 3]), OPERATIONS)
    fitting = [n for n, s in names.items() if s.shape == shape.shape and s.dtype == shape.dtype]
    last = g.rng.choice(fitting[-2:])
    inner = [n for n in names if n[0] in "wxc"]
    damp = f"{last}" if g.dtype == "int32" else f"{last} * 0.5 + c{number} * 0.5"
    if kind == 0:
        out = g.rng.choice(inner)
        head = f"def f{number}(c{number}, x{number}):\n{text}    return {damp}, {out}\n"
        reverse, which = g.rng.random() < 0.3, g.rng.choice([0, 1])
        return f"lax.scan(f{number}, {carry}, {xs}, reverse={reverse})[{which}]", head
    head = f"def f{number}(c{number}):\n{text}    return {damp}\n"
    if kind == 1:
        return f"lax.fori_loop(0, {g.rng.choice([1, 2, 3])}, lambda _, c: f{number}(c), {carry})", head
    if kind == 2:
        wrap = "jax.checkpoint" if g.rng.random() < 0.5 else "jax.jit"
        return f"{wrap}(f{number})({carry})", head
    i = g.like((3,), "int32")
    return f"lax.cond({i}[0] > 4, f{number}, lambda c: c + 1, {carry})", head


OPERATIONS = [(4, unary), (6, binary), (3, broadcast), (1, outer), (3, transpose), (5, reshape), (5, slice_), (4, pad), (4, concatenate), (5, shift), (5, reduce),
              (3, norm), (4, which), (4, cumulative), (5, dot), (4, einsum), (5, gather), (4, scatter), (4, dynamic), (4, window), (4, convolution),
              (3, iota), (2, linalg), (2, fft), (1, random_bits), (2, convert), (1, vmapped), (3, manual_region), (5, loop)]
