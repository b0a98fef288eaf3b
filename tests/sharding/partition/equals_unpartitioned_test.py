"""The property that matters: a partitioned program computes what the unpartitioned one does.

Small programs, one a kind of operation, over meshes of 2x4, 3x2 and 8 devices, with random shardings of
arguments, results and of an intermediate value (there uneven ones too). Shoal partitions, jaxlib runs both
sides (simulate.py). SHOAL_TEST_SEEDS says how many shardings each program gets.
"""
import os
import random
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import simulate
from built import BUILD

TOOL = BUILD / "tests/sharding/partition/partition_tool"
SEEDS = int(os.environ.get("SHOAL_TEST_SEEDS", "3"))
MESHES = [((2, 4), ("x", "y")), ((3, 2), ("x", "y")), ((8,), ("x",))]

RNG = np.random.default_rng(5)


def F(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def I(high, *shape):
    return RNG.integers(0, high, shape).astype(np.int32)


# name: (function of (constrain, *args), args). `c` marks the value that gets a random sharding inside.
PROGRAMS = {
    "elementwise": (lambda c, a, b: c(jnp.tanh(a) * b + 1) - a, [F(24, 48), F(24, 48)]),
    "broadcast_row": (lambda c, a, b: c(a + b) * b, [F(24, 48), F(48)]),
    "iota_mask": (lambda c, a: jnp.where(c(jnp.arange(24)[:, None] * a) > lax.iota(jnp.float32, 48), a, 0), [F(24, 48)]),
    "dot": (lambda c, a, b: c(a @ b), [F(24, 48), F(48, 24)]),
    "dot_odd_middle": (lambda c, a, b: c(a @ b) @ b.T, [F(24, 13), F(13, 48)]),
    "dot_batch": (lambda c, a, b: jnp.einsum("bij,bjk->bik", c(a * 2), b), [F(24, 7, 48), F(24, 48, 5)]),
    "dot_uneven_contraction": (lambda c, a, b: c(a[:, :13] * 2) @ b[:13], [F(24, 48), F(48, 24)]),
    "gradient": (lambda c, w, x: jax.grad(lambda w: (c(jnp.tanh(x @ w)) ** 2).sum())(w), [F(48, 24), F(24, 48)]),
    "sum_all": (lambda c, a: c(a * 2).sum(), [F(24, 48)]),
    "sum_uneven": (lambda c, a: c(a[:23, :47]).sum(0), [F(24, 48)]),
    "mean_axis": (lambda c, a: c(a).mean(1), [F(24, 48)]),
    "max_min": (lambda c, a: (c(a[:, :45]).max(1), a.min(0)), [F(24, 48)]),
    "prod": (lambda c, a: lax.reduce(c(a), np.float32(1), lax.mul, (1,)), [1 + F(24, 48) / 40]),
    "add_init": (lambda c, a: lax.reduce(c(a), np.float32(5), lax.add, (0,)), [F(24, 48)]),
    "all_any": (lambda c, a: (jnp.all(c(a) > -3, 0), jnp.any(a > 2, 1)), [F(24, 48)]),
    "argmax": (lambda c, a: (c(a[:, :47]).argmax(1), a.argmin(0)), [F(24, 48)]),
    "softmax": (lambda c, a: jax.nn.softmax(c(a), -1), [F(24, 48)]),
    "reshape_merge": (lambda c, a: c(a).reshape(-1) * 2, [F(24, 48)]),
    "reshape_split": (lambda c, a: c(a).reshape(4, 6, 8, 6) + 1, [F(24, 48)]),
    "reshape_tangle": (lambda c, a: c(a).reshape(18, 64) + 1, [F(24, 48)]),
    "transpose": (lambda c, a: c(a).transpose(2, 0, 1) * 2, [F(24, 6, 8)]),
    "slice": (lambda c, a: c(a)[3:-3, ::2] * 2, [F(24, 48)]),
    "slice_of_one_part": (lambda c, a: c(a)[17:18] + a[3], [F(24, 48)]),
    "slice_of_two_parts": (lambda c, a: (c(a)[10:14:3, 5] * 2, a[:, 40:47:2]), [F(24, 48)]),
    "slice_uneven": (lambda c, a: c(a[:21])[19:21] * 2, [F(24, 48)]),
    "pad": (lambda c, a: jnp.pad(c(a), ((2, 3), (0, 5)), constant_values=7) * 2, [F(24, 48)]),
    "pad_interior": (lambda c, a: lax.pad(c(a), np.float32(3), ((1, 2, 1), (-2, 3, 0))), [F(24, 48)]),
    "interleave": (lambda c, a, b: lax.pad(c(a), np.float32(0), ((0, 1, 1), (0, 0, 0))) + lax.pad(b, np.float32(0), ((1, 0, 1), (0, 0, 0))), [F(24, 48), F(24, 48)]),
    "pad_interior_far": (lambda c, a: lax.pad(c(a), np.float32(3), ((-4, 1, 2), (7, -1, 2))), [F(24, 48)]),
    "associative_scan": (lambda c, a: lax.associative_scan(jnp.maximum, c(a), axis=0), [F(24, 48)]),
    "concatenate": (lambda c, a, b: c(jnp.concatenate([a, b * 2, a], 0)), [F(24, 48), F(6, 48)]),
    "concatenate_uneven": (lambda c, a, b: c(jnp.concatenate([c(a[:21]), b * 2, a[:7]], 0)), [F(24, 48), F(6, 48)]),
    "roll": (lambda c, a: jnp.roll(c(a), 5, 0) + a, [F(24, 48)]),
    "roll_far": (lambda c, a: jnp.roll(c(a), (-5, 17), (0, 1)), [F(24, 48)]),
    "roll_uneven": (lambda c, a: jnp.roll(c(a[:21]), -2, 0), [F(24, 48)]),
    "reverse": (lambda c, a: c(a)[::-1, ::-1] * 2, [F(24, 48)]),
    "reverse_uneven": (lambda c, a: c(a[:21, :46])[::-1, ::-1] * 2, [F(24, 48)]),
    "stencil": (lambda c, a: c(a)[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2] - a[1:-1, 2:], [F(24, 48)]),
    "dynamic_slice": (lambda c, a, i: lax.dynamic_slice(c(a), (i, 3), (5, 48)) * 2, [F(24, 48), np.int32(30)]),
    "dynamic_update_slice": (lambda c, a, b, i: lax.dynamic_update_slice(c(a), b, (i, 1)), [F(24, 48), F(6, 24), np.int32(4)]),
    "embedding": (lambda c, t, i: c(t)[i] * 2, [F(48, 24), I(48, 24)]),
    "embedding_uneven": (lambda c, t, i: c(t[:45])[i] * 2, [F(48, 24), I(45, 24)]),
    "gather_pairs": (lambda c, t, i, j: c(t)[i, j], [F(24, 48), I(24, 48), I(48, 48)]),
    "take_along": (lambda c, t, i: jnp.take_along_axis(c(t), i, 1), [F(24, 48), I(48, 24, 6)]),
    "gather_out_of_range": (lambda c, t, i: c(t).at[i].get(mode="fill", fill_value=-7), [F(48, 24), I(60, 24) - 3]),
    "scatter_add": (lambda c, t, i, u: c(t).at[i].add(u), [F(48, 24), I(48, 24), F(24, 24)]),
    "scatter_set": (lambda c, t, i, u: c(t).at[i].set(u, unique_indices=True), [F(48, 24), np.arange(24, dtype=np.int32) * 2, F(24, 24)]),
    "scatter_max": (lambda c, t, i, u: c(t).at[i].max(u), [F(48, 24), I(48, 24), F(24, 24)]),
    "scatter_window": (lambda c, t, i, u: c(t).at[i, :12].add(u), [F(48, 24), I(48, 6), F(6, 12)]),
    "scatter_out_of_range": (lambda c, t, i, u: c(t).at[i].add(u), [F(48, 24), I(60, 24) - 3, F(24, 24)]),
    "scatter_uneven": (lambda c, t, i, u: c(t[:45]).at[i].add(u), [F(48, 24), I(45, 24), F(24, 24)]),
    "sort": (lambda c, a: jnp.sort(c(a), 1), [F(24, 48)]),
    "sort_pairs": (lambda c, a, b: lax.sort((c(a), b), dimension=0, num_keys=1), [F(24, 48), F(24, 48)]),
    "sort_narrow": (lambda c, a, b: lax.sort((c(a), b), dimension=0, num_keys=2), [I(4, 48, 5), F(48, 5)]),
    "top_k": (lambda c, a: lax.top_k(c(a), 3), [F(24, 48)]),
    "top_k_ties": (lambda c, a: lax.top_k(c(a), 30), [I(5, 24, 48)]),
    "cumsum": (lambda c, a: jnp.cumsum(c(a), 0), [F(24, 48)]),
    "cummax_uneven": (lambda c, a: lax.cummax(c(a[:21]), 0), [F(24, 48)]),
    "cumprod_reverse_uneven": (lambda c, a: lax.cumprod(c(a[:, :47]), 1, reverse=True), [1 + F(24, 48) / 40]),
    "cumlogsumexp": (lambda c, a: lax.cumlogsumexp(c(a[:21]), 0), [F(24, 48)]),
    "max_pool": (lambda c, a: lax.reduce_window(c(a), -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"), [F(6, 24, 24, 2)]),
    "pool_gradient": (lambda c, a: jax.grad(lambda a: lax.reduce_window(c(a), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum())(a), [F(6, 24, 24, 2)]),
    "pool_gradient_overlapping": (lambda c, a: jax.grad(lambda a: (jnp.sin(lax.reduce_window(c(a), -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"))).sum())(a), [F(6, 24, 24, 2)]),
    "pool_gradient_far": (lambda c, a: jax.grad(lambda a: (lax.reduce_window(c(a), np.inf, lax.min, (1, 7, 4, 1), (1, 3, 5, 1), "VALID") ** 2).sum())(a), [F(2, 30, 24, 3)]),
    "convolution": (lambda c, a, k: c(lax.conv(a, k, (1, 1), "SAME")), [F(6, 24, 16, 24), F(24, 24, 3, 3)]),
    "convolution_strided": (lambda c, a, k: lax.conv_general_dilated(c(a), k, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(2, 1)), [F(6, 4, 24, 16), F(8, 4, 3, 2)]),
    "convolution_transposed": (lambda c, a, k: lax.conv_general_dilated(c(a), k, (1, 1), ((1, 1), (2, 0)), lhs_dilation=(2, 3)), [F(6, 4, 24, 16), F(8, 4, 3, 2)]),
    "convolution_strided_gradients": (lambda c, a, k: jax.grad(lambda a, k: (c(lax.conv(a, k, (2, 3), "SAME")) ** 2).sum(), (0, 1))(a, k), [F(6, 4, 24, 24), F(8, 4, 3, 5)]),
    "convolution_dilated_gradient": (lambda c, a, k: jax.grad(lambda k: (lax.conv_general_dilated(c(a), k, (2, 1), ((2, 1), (0, 3)), rhs_dilation=(2, 1)) ** 2).sum())(k), [F(6, 4, 24, 24), F(8, 4, 3, 2)]),
    "average_pool_gradient": (lambda c, a: jax.grad(lambda a: (lax.reduce_window(c(a), np.float32(0), lax.add, (1, 3, 2, 1), (1, 2, 2, 1), "SAME") ** 2).sum())(a), [F(6, 24, 24, 2)]),
    "convolution_groups": (lambda c, a, k: c(lax.conv_general_dilated(a, k, (1, 1), "VALID", feature_group_count=8)), [F(6, 24, 8, 8), F(48, 3, 3, 3)]),
    "convolution_depthwise_odd": (lambda c, a, k: c(lax.conv_general_dilated(c(a), k, (1, 1), "VALID", feature_group_count=7)), [F(6, 7, 8, 8), F(7, 1, 3, 3)]),
    "convolution_gradient": (lambda c, a, k: jax.grad(lambda k: (c(lax.conv(a, k, (1, 1), "SAME")) ** 2).sum())(k), [F(6, 4, 24, 12), F(8, 4, 3, 3)]),
    "while": (lambda c, a, n: lax.fori_loop(0, n, lambda i, s: (c(jnp.sin(s[0] @ s[1])), s[1]), (a, a.T @ a / 99))[0], [F(24, 24), np.int32(3)]),
    "scan": (lambda c, h, w, xs: lax.scan(lambda h, x: (c(jnp.tanh(h @ w + x)), h.sum(1)), h, xs), [F(24, 24), F(24, 24) / 8, F(5, 24, 24)]),
    "cond": (lambda c, a, p: lax.cond(p > 0, lambda a: c(a * 2).sum(0), lambda a: a.max(0), a), [F(24, 48), np.int32(1)]),
    "rng": (lambda c, k: c(jax.random.uniform(jax.random.wrap_key_data(k), (24, 48))), [np.array([1, 2], np.uint32)]),
    "rng_bits": (lambda c, k: lax.rng_bit_generator(k, (24, 48))[1], [np.array([1, 2, 3, 4], np.uint32)]),
    "fft": (lambda c, a: jnp.abs(jnp.fft.fft(c(a))), [F(24, 48)]),
    "complex": (lambda c, a: (c(a * 1j).conj() * a).sum(0).imag, [F(24, 48)]),
    "clamp": (lambda c, a: lax.clamp(np.float32(-1), c(a), np.float32(1)), [F(24, 48)]),
    "where_scalar": (lambda c, a, p: jnp.where(p > 0, c(a), a * 2), [F(24, 48), np.int32(1)]),
    "barrier": (lambda c, a, b: lax.optimization_barrier((c(a), b))[0] + b, [F(24, 48), F(24, 48)]),
    "empty": (lambda c, a: jnp.concatenate([c(a)[:0], a[:0]]), [F(24, 48)]),
    "bitcast": (lambda c, a: lax.bitcast_convert_type(lax.bitcast_convert_type(c(a), jnp.uint8), jnp.float32), [F(24, 48)]),
}

# What jaxlib computes otherwise: it lets an initial value that is no identity count several times.
PLAIN = {"add_init": lambda a: a.sum(0) + 5}


def random_spec(rng, axes, shape, even):
    """A sharding of an array: each axis of the mesh on a random dimension, or on none."""
    dims = [[] for _ in shape]
    sizes = dict(axes)
    for name in rng.sample(list(sizes), len(sizes)):
        if not shape or rng.random() < 0.3:
            continue
        d = rng.randrange(len(shape))
        parts = sizes[name]
        for other in dims[d]:
            parts *= sizes[other]
        if shape[d] % parts if even else shape[d] < parts:
            continue
        dims[d].append(name)
    return PartitionSpec(*(tuple(d) if d else None for d in dims))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_unpartitioned(name, seed, tmp_path):
    function, args = PROGRAMS[name]
    rng = random.Random(zlib.crc32(f"{name} {seed}".encode()))
    shape, names = MESHES[rng.randrange(len(MESHES))]
    mesh = jax.make_mesh(shape, names, (AxisType.Auto,) * len(shape), devices=jax.devices()[:np.prod(shape)])
    axes = list(zip(names, shape))

    def sharding(x, even):
        return NamedSharding(mesh, random_spec(rng, axes, x.shape, even))

    def constrain(x):
        return lax.with_sharding_constraint(x, sharding(x, even=False)) if rng.random() < 0.7 else x

    state = rng.getstate()

    def program(*args):
        rng.setstate(state)  # the same constraints whenever jax traces it
        return function(constrain, *args)

    outs = jax.eval_shape(program, *args)
    ins = tuple(sharding(x, even=True) for x in args)
    out = jax.tree.map(lambda x: sharding(x, even=True), outs) if rng.random() < 0.5 else None
    jitted = jax.jit(program, in_shardings=ins, **({"out_shardings": out} if out is not None else {}))
    plain = PLAIN.get(name) or jax.jit(lambda *args: function(lambda x: x, *args))
    path = str(tmp_path / "program.mlirbc")
    simulate.check(TOOL, jitted, tuple(args), int(np.prod(shape)), path, rtol=1e-4, atol=1e-4, plain=plain)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_pooling_gradient_that_pads(seed, tmp_path):
    """For a CPU JAX pads the array itself; elsewhere the operation does. Of equals the first is selected."""
    rng = random.Random(seed)
    mesh = jax.make_mesh((2, 4), ("x", "y"), (AxisType.Auto,) * 2)
    a = np.round(F(6, 24, 32, 3))

    def program(a):
        return jax.grad(lambda a: (lax.reduce_window(a, -np.inf, lax.max, (1, 4, 3, 1), (1, 3, 2, 1), ((0, 0), (2, 1), (1, 2), (0, 0))) * 3).sum())(a)

    spec = NamedSharding(mesh, PartitionSpec(None, *rng.sample(["x", "y"], 2)))
    simulate.check(TOOL, jax.jit(program, in_shardings=(spec,)), (a,), 8, str(tmp_path / "program.mlirbc"), rtol=1e-4, atol=1e-4,
                   plain=jax.jit(program), platform="tpu")


# --- shard_map: manual regions, wholly and partly ---

def shard_map(f, mesh, ins, outs, manual=None):
    return jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False,
                         **({"axis_names": manual} if manual else {}))


P = PartitionSpec
MANUAL = {
    "psum": lambda m, a: shard_map(lambda x: lax.psum(x, "x") * 2, m, P("x", "y"), P(None, "y"))(a),
    "all_gather": lambda m, a: shard_map(lambda x: lax.all_gather(x, "y", axis=1, tiled=True) + 1, m, P("x", "y"), P("x"))(a),
    "reduce_scatter": lambda m, a: shard_map(lambda x: lax.psum_scatter(x, "y", tiled=True), m, P(None, "y"), P("y"))(a),
    "all_to_all": lambda m, a: shard_map(lambda x: lax.all_to_all(x, "y", 0, 0, tiled=True), m, P(None, "y"), P(None, "y"))(a),
    "permute": lambda m, a: shard_map(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]), m, P("x", "y"), P("x", "y"))(a),
    "axis_index": lambda m, a: shard_map(lambda x: x + lax.axis_index("x") * 10 + lax.axis_index("y"), m, P("x", "y"), P("x", "y"))(a),
    "pmax_two_axes": lambda m, a: shard_map(lambda x: lax.pmax(x, ("x", "y")), m, P("x", "y"), P())(a),
    "halo": lambda m, a: shard_map(lambda x: x + lax.ppermute(x[-1:], "y", [(i, (i + 1) % 4) for i in range(4)]), m, P("y"), P("y"))(a),
    "loop": lambda m, a: shard_map(lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x + lax.pmean(x, "y")), x), m, P("x", "y"), P("x", "y"))(a),
    "in_auto": lambda m, a: jnp.sin(shard_map(lambda x: lax.psum(x, "y"), m, P("x", "y"), P("x"))(a @ a.T) @ a[:6, :]),
    "partial": lambda m, a: shard_map(lambda x: lax.psum((x @ x.T) * 2, "x"), m, P("x"), P(), {"x"})(a * 3) + 1,
    "partial_constraint": lambda m, a: shard_map(
        lambda x: lax.with_sharding_constraint(jnp.sin(x), NamedSharding(jax.sharding.get_abstract_mesh(), P(None, "y"))).sum(1) + lax.axis_index("x"), m, P("x"), P("x"), {"x"})(a),
    # 10 rows are 5 in each half: four parts of those are not parts of the 10.
    "uneven_rest": lambda m, a: lax.with_sharding_constraint(
        shard_map(lambda x: lax.psum(x, "x"), m, P("x"), P(), {"x"})(a[:10]) + 1, NamedSharding(m, P("y"))) * a[:5],
    "uneven_rest_out": lambda m, a: lax.with_sharding_constraint(
        shard_map(lambda x: x * 2 + lax.axis_index("x"), m, P("x"), P("x"), {"x"})(a[:10]), NamedSharding(m, P(("x", "y")))) * a[:10],
    "nested": lambda m, a: shard_map(lambda x: lax.psum(x + jax.shard_map(
        lambda y: lax.psum(y, "y"), in_specs=P(None, "y"), out_specs=P(), axis_names={"y"}, check_vma=False)(x).sum(), "x"), m, P("x"), P(), {"x"})(a),
}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", MANUAL)
def test_manual_region(name, seed, tmp_path):
    rng = random.Random(zlib.crc32(f"{name} {seed}".encode()))
    mesh = jax.make_mesh((2, 4), ("x", "y"), (AxisType.Auto,) * 2)
    a = F(24, 24) if name == "in_auto" else F(24, 48)
    spec = NamedSharding(mesh, random_spec(rng, [("x", 2), ("y", 4)], a.shape, even=True))
    jitted = jax.jit(lambda a: MANUAL[name](mesh, a), in_shardings=(spec,))
    simulate.check(TOOL, jitted, (a,), 8, str(tmp_path / "program.mlirbc"), rtol=1e-4, atol=1e-4)


# --- unreduced sums, which linear operations leave as they are ---

def test_unreduced_gradients_of_scanned_layers(tmp_path):
    mesh = jax.make_mesh((2,), ("x",), (AxisType.Explicit,))
    ws, xs = F(3, 4, 4), F(2, 6, 4)

    def gradients(reshard):
        def loss(ws, x):
            return (lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0] ** 2).sum()

        def step(ws, xs):
            total = reshard(jnp.zeros_like(ws), P(unreduced={"x"}))
            total, _ = lax.scan(lambda total, x: (total + jax.grad(loss)(ws, x), None), total, xs)
            return reshard(total, P())

        return step

    with jax.set_mesh(mesh):
        args = jax.device_put(ws, P(reduced={"x"})), jax.device_put(xs, P(None, "x"))
        simulate.check(TOOL, jax.jit(gradients(jax.sharding.reshard)), args, 2, str(tmp_path / "program.mlirbc"),
                       rtol=1e-4, atol=1e-4, plain=lambda *_: gradients(lambda x, _: x)(ws, xs))
