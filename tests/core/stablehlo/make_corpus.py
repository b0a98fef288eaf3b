"""Lowers a set of JAX programs and writes each as the bytes that a PJRT plugin gets, and as StableHLO text.

    python make_corpus.py OUT_DIR

For each program NAME: NAME.mlirbc (the portable artifact), NAME.mlir and NAME.generic.mlir (the same as text, with
locations). Needs jax and jaxlib only; nothing is executed.
"""
import os
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax

TARGET = "1.16.2"  # twelve weeks behind jaxlib 0.10.2: what it takes when a plugin names nothing newer
PROGRAMS = {}


def program(*shapes, jit=None):
    """Registers a function with the shapes and dtypes of its arguments: (2, 3, 'f4')."""

    def register(f):
        PROGRAMS[f.__name__] = (f, shapes, jit or {})
        return f

    return register


def spec(shape):
    *dims, dtype = shape
    return jax.ShapeDtypeStruct(tuple(dims), jnp.dtype(dtype))


def mesh(*sizes):
    names = ("x", "y", "z")[: len(sizes)]
    count = int(np.prod(sizes))
    return Mesh(np.array(jax.devices()[:count]).reshape(sizes), names)


@program((8, "f4"))
def add_one(x):
    return x + 1


@program((3, 5, "f4"), (3, 5, "f4"))
def elementwise(x, y):
    z = jnp.sin(x) * jnp.cos(y) + jnp.tanh(x) - jnp.exp(-jnp.abs(y)) / (1 + jnp.square(x))
    z = z + jnp.log1p(jnp.abs(x)) + jnp.expm1(y) + lax.rsqrt(jnp.abs(x) + 1) + jnp.cbrt(y) + lax.logistic(x)
    z = jnp.where(x > y, z, jnp.maximum(x, y)) + jnp.minimum(x, y) ** 2.5
    return z, jnp.floor(z), jnp.ceil(z), jnp.round(z), jnp.sign(z), jnp.isfinite(z), jnp.arctan2(x, y), lax.tan(x)


@program((7, "i4"), (7, "i4"))
def integers(x, y):
    return (x & y, x | y, x ^ y, ~x, x << 3, x >> 1, lax.shift_right_logical(x, y), lax.population_count(x), lax.clz(x),
            x // y, x % y, -x, x.astype(jnp.uint8), lax.bitcast_convert_type(x, jnp.float32))


@program((5, "bfloat16"), (5, "float16"), (5, "f8"), (5, "bool"))
def dtypes(a, b, c, d):
    return a + 1, b * 2, c.astype(jnp.float32), jnp.where(d, a, 0), ~d, a.astype(jnp.float64), lax.reduce_precision(c, 8, 7)


@program((4, "c8"), (4, "c16"))
def complexes(a, b):
    return a * 2j, jnp.conj(b), jnp.real(a), jnp.imag(b), lax.complex(jnp.real(a), jnp.imag(a)), jnp.exp(a), jnp.abs(b)


@program()
def constants():
    types = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
             "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
             "float8_e5m2fnuz", "float8_e4m3fnuz", "int4", "uint4", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu",
             "float4_e2m1fn"]
    data = np.arange(15).reshape(3, 5) % 3
    return [jnp.asarray(data.astype(jnp.dtype(t))) for t in types] + [jnp.zeros((3, 5), t) for t in types]


@program()
def bools():
    return [jnp.asarray(np.arange(n) % 3 == 0) for n in (1, 2, 7, 8, 9, 16, 17)] + [
        jnp.ones(9, bool), jnp.zeros(1, bool), jnp.ones(1, bool), jnp.zeros(3, bool), jnp.zeros((0, 3), bool)]


@program((0, 3, "f4"))
def empty(x):
    return x + 1, jnp.sum(x), jnp.concatenate([x, x])


@program((5, 7, "f4"), (7, 3, "f4"))
def dot(a, b):
    return a @ b, lax.dot(a, b, precision="highest")


@program((2, 5, 7, "bfloat16"), (2, 7, 3, "bfloat16"))
def batched_dot(a, b):
    return jnp.einsum("bij,bjk->bki", a, b), lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))),
                                                             preferred_element_type=jnp.float32)


@program((3, 5, 7, "f4"))
def reductions(x):
    return (jnp.sum(x), jnp.max(x, 1), jnp.min(x, (0, 2)), jnp.prod(x, 2), jnp.any(x > 0, 0), jnp.all(x > 0),
            jnp.argmax(x, 1), jnp.argmin(x), jnp.mean(x, 0), jnp.var(x), jax.nn.logsumexp(x, 1))


@program((11, "f4"), (11, "i4"))
def reduce_variadic(x, y):
    return lax.reduce((x, y), (np.float32(0), np.int32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))


@program((6, 5, "f4"))
def cumulative(x):
    return jnp.cumsum(x, 0), lax.cummax(x, 1), lax.cumprod(x, 0, reverse=True), lax.cumlogsumexp(x)


@program((3, 4, "f4"))
def shapes(x):
    y = jnp.transpose(x).reshape(2, 6)
    return (y, jnp.broadcast_to(x, (2, 3, 4)), jnp.pad(x, ((1, 2), (0, 3))), lax.pad(x, np.float32(1), ((-1, 0, 2), (1, 1, 0))),
            x[1:3:2, ::-1], jnp.concatenate([x, x * 2], 1), jnp.flip(x, 0), jnp.expand_dims(x, 1), jnp.stack([x, x]),
            lax.iota(jnp.int32, 7), lax.broadcasted_iota(jnp.float32, (3, 5), 1), jnp.tile(x, (2, 1)))


@program((6, 5, "f4"), ("i4",), (2, 2, "f4"))
def dynamic(x, i, u):
    return lax.dynamic_slice(x, (i, i + 1), (2, 3)), lax.dynamic_update_slice(x, u, (i, i)), x[i]


@program((9, 4, "f4"), (5, "i4"), (5, 4, "f4"))
def gather_scatter(x, i, u):
    return x[i], x.at[i].set(u), x.at[i].add(u), x.at[i, 1].max(u[:, 0]), jnp.take_along_axis(x, (i % 4)[None, :], 1), x[::2, [0, 2]]


@program((3, 9, "f4"), (3, 2, "i4"))
def batched_gather(x, i):
    return jax.vmap(lambda a, b: a[b])(x, i), jax.vmap(lambda a, b: a.at[b].add(1.0))(x, i)


@program((13, "f4"), (13, "i4"))
def sorting(x, y):
    return jnp.sort(x), jnp.argsort(x), lax.sort((x, y), num_keys=2), lax.top_k(x, 3), jnp.sort(y, descending=True), jnp.median(x)


@program((2, 9, 11, 3, "f4"), (3, 3, 3, 8, "f4"))
def convolution(x, k):
    conv = lambda **kw: lax.conv_general_dilated(x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"), **kw)
    return conv(window_strides=(1, 1), padding="SAME"), conv(window_strides=(2, 1), padding=((0, 1), (2, 3)),
                                                            lhs_dilation=(1, 2), rhs_dilation=(2, 1))


@program((2, 4, 9, "f4"), (8, 2, 3, "f4"))
def grouped_convolution(x, k):
    f = lambda x, k: lax.conv_general_dilated(x, k, (1,), "VALID", feature_group_count=2)
    return f(x, k), jax.grad(lambda x, k: f(x, k).sum(), (0, 1))(x, k)


@program((2, 9, 9, 3, "f4"))
def pooling(x):
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return pool(x), jax.grad(lambda x: pool(x).sum())(x), lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


@program((7, "f4"))
def scan(x):
    return lax.scan(lambda c, a: (c * 0.5 + a, c + a), np.float32(0), x)


@program((7, "f4"), (7, "f4"))
def scan_captures(x, w):
    def body(c, a):
        d = lax.fori_loop(0, 3, lambda i, v: v + w[i] * a, c)
        return d, jnp.sum(w) + d
    return lax.scan(body, np.float32(0), x)


@program(("f4",))
def while_loop(x):
    return lax.while_loop(lambda s: s[0] < x, lambda s: (s[0] * 2, s[1] + 1), (x * 0.01, 0))


@program(("i4",), (3, "f4"))
def cond(i, x):
    y = jnp.sin(x)
    return (lax.cond(i > 2, lambda: x + y, lambda: x * 2), lax.switch(i, [lambda a: a, lambda a: a * y, lambda a: a + 1], x),
            lax.cond(i > 0, lambda a: (a, 1), lambda a: (a + 1, 2), x))


@program((3, "f4"))
def nested_calls(x):
    g = jax.jit(lambda a: a * 2 + 1)
    h = jax.jit(lambda a: (g(a), g(a + 1)))
    return h(x)[0] + g(x), h(x)[1]


@program((4, "u4"))
def rng_bits(key):
    return lax.rng_bit_generator(key, (3, 5), dtype=jnp.uint32), lax.rng_bit_generator(key, (7,), dtype=jnp.uint64, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)


@program(("i4",))
def rng_keys(seed):
    key = jax.random.key(seed)
    a, b = jax.random.split(key)
    return jax.random.normal(a, (3, 5)), jax.random.randint(b, (7,), 0, 10), jax.random.permutation(a, 9), jax.random.categorical(b, jnp.ones(5))


@program((3, "f4"))
def custom_jvp(x):
    return jax.grad(lambda x: (jax.nn.relu(x) + jax.nn.softplus(x) + jax.nn.gelu(x) + jax.scipy.special.erf(x)).sum())(x)


@program((5, 5, "f4"))
def linalg(x):
    s = x @ x.T + 5 * jnp.eye(5)
    return jnp.linalg.cholesky(s), jax.scipy.linalg.solve_triangular(s, x), jnp.linalg.inv(s), jnp.linalg.det(x), jnp.linalg.svd(x), jnp.linalg.eigh(s), jnp.linalg.qr(x)


@program((3, 8, "c8"), (3, 8, "f4"))
def fft(x, y):
    return jnp.fft.fft(x), jnp.fft.ifft2(x), jnp.fft.rfft(y), jnp.fft.irfft(x)


@program((3, "f4"))
def special(x):
    return (jax.scipy.special.digamma(x), jax.scipy.special.gammaln(x), jax.lax.erf_inv(x), jax.scipy.special.zeta(x + 2, 1.5),
            jnp.arccos(x), jnp.arcsinh(x), jnp.sinh(x), jnp.arctanh(x), lax.bessel_i0e(x), lax.nextafter(x, x + 1), jax.scipy.special.betainc(x, x, x))


@program((3, "f4"))
def callbacks(x):
    jax.debug.print("x = {}", x)
    return jax.pure_callback(lambda a: np.sin(a), jax.ShapeDtypeStruct((3,), np.float32), x)


@program((6, 6, "f4"), jit={"donate_argnums": (0,)})
def donated(x):
    return x + 1


@program((4, 3, "f4"))
def checkpoint(x):
    f = jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)).sum())
    return jax.grad(f)(x)


@program((4, 8, "f4"))
def large_constant(x):
    return x @ jnp.asarray(np.random.RandomState(0).rand(8, 300).astype(np.float32)), jnp.full((1000, 1000), 3.0)


@program((8, 6, "f4"))
def sharded_constraint(x):
    m = mesh(4, 2)
    y = lax.with_sharding_constraint(jnp.sin(x), NamedSharding(m, P("x", "y")))
    return y * 2


def sharded(f, mesh_, in_specs, out_specs, *shapes, **kw):
    name = f.__name__
    to = lambda s: jax.tree.map(lambda p: NamedSharding(mesh_, p), s, is_leaf=lambda p: isinstance(p, P))
    PROGRAMS[name] = (f, shapes, dict(in_shardings=to(in_specs), out_shardings=to(out_specs), **kw))


def sharded_dot(x, w):
    return jax.nn.relu(x @ w)


sharded(sharded_dot, mesh(4, 2), (P("x", None), P(None, "y")), P("x", "y"), (8, 6, "f4"), (6, 10, "f4"))


def sharded_odd(x):
    return jnp.cumsum(x, 0), jnp.sort(x, 0)


sharded(sharded_odd, mesh(2, 3), (P("y", "x"),), (P("x"), P()), (12, 4, "f4"))


def sharded_both(x):
    return jnp.sum(x, 0)


sharded(sharded_both, mesh(4, 2), (P(("y", "x")),), P(), (16, 3, "f4"))


def mapped(name, body, mesh_, in_specs, out_specs, *shapes, **kw):
    f = jax.shard_map(body, mesh=mesh_, in_specs=in_specs, out_specs=out_specs, **kw)
    PROGRAMS[name] = (f, shapes, {})


mapped("shard_map_psum", lambda x: lax.psum(x * 2, "x"), mesh(4, 2), (P("x", "y"),), P(None, "y"), (8, 6, "f4"))
mapped("shard_map_gather", lambda x: (lax.all_gather(x, "x", tiled=True), lax.axis_index("y")[None]), mesh(4, 2), (P("x", "y"),),
       (P(None, "y"), P("y")), (8, 6, "f4"), check_vma=False)
mapped("shard_map_permute", lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]), mesh(4), (P("x"),), P("x"), (8, 3, "f4"))
mapped("shard_map_all_to_all", lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), mesh(4), (P("x"),), P("x"),
       (8, 12, "f4"))
mapped("shard_map_scatter", lambda x: lax.psum_scatter(x, "x", tiled=True), mesh(4), (P(),), P("x"), (8, 3, "f4"), check_vma=False)
mapped("shard_map_auto", lambda x: jnp.sin(x) @ jnp.ones((6, 3), x.dtype), mesh(4, 2), (P("x"),), P("x"), (8, 6, "f4"), axis_names={"x"})
mapped("shard_map_scan", lambda x: lax.scan(lambda c, a: (c + lax.pmean(a, "x"), c), jnp.zeros(3, x.dtype), x)[0], mesh(2), (P("x"),), P(),
       (8, 3, "f4"), check_vma=False)


def nested_shard_map(x):
    m = mesh(4, 2)
    inner = jax.jit(jax.shard_map(lambda a: lax.psum(a, "y"), mesh=m, in_specs=P("x", "y"), out_specs=P("x", None)))
    return inner(jnp.sin(x)) * 2


PROGRAMS["nested_shard_map"] = (nested_shard_map, ((8, 6, "f4"),), {})


def mlp(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean(x**2)


PROGRAMS["train_step"] = (
    lambda a, b, c, d, x: jax.tree.map(lambda p, g: p - 0.1 * g, [(a, b), (c, d)], jax.grad(mlp)([(a, b), (c, d)], x)),
    ((6, 16, "f4"), (16, "f4"), (16, 3, "f4"), (3, "f4"), (5, 6, "f4")), {})


def lower(name):
    function, shapes, jit = PROGRAMS[name]
    with jax.enable_x64(True):
        return jax.jit(function, **jit).lower(*[spec(s) for s in shapes])


def write(directory, name):
    artifact = _jax.mlir.serialize_portable_artifact(lower(name).compiler_ir("stablehlo"), TARGET, True)
    base = os.path.join(directory, name)
    with open(base + ".mlirbc", "wb") as f:
        f.write(artifact)
    # The text is jaxlib's own reading of the artifact, so both say the same to the last attribute.
    with jax_mlir.make_ir_context():
        module = _jax.mlir.deserialize_portable_artifact(artifact)
        with open(base + ".mlir", "w") as f:
            f.write(module.operation.get_asm(enable_debug_info=True))
        with open(base + ".generic.mlir", "w") as f:
            f.write(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for name in PROGRAMS:
        try:
            write(directory, name)
        except Exception as error:
            raise RuntimeError(f"program {name}") from error
    print(len(PROGRAMS), "programs in", directory)


if __name__ == "__main__":
    main()
