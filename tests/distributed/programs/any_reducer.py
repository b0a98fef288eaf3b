"""all-reduce and reduce-scatter by computations of the program's own, one with a loop among them, over all devices and over
groups of them, also of different sizes; tells what is not NumPy's."""

from told import distributed, tell

import functools

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import hlo
from jax.extend.core import Primitive
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
jax.config.update("jax_enable_x64", True)
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("x",))
random = np.random.default_rng(5)
ALL = (tuple(range(n)),)
PAIRS = tuple((i, i + n // 2) for i in range(n // 2)) if n % 2 == 0 else ALL
RAGGED = ((n - 1, *range(1, n - 1)), (0,))


def joined(a, b):
    """(1 + a)(1 + b) - 1, which is 0 for 0 and 0."""
    return hlo.add(hlo.add(a, b), hlo.multiply(a, b))


def farther(a, b):
    """The one that is farther from 0, of equals the first."""
    return hlo.select(hlo.compare(hlo.abs(b), hlo.abs(a), ir.Attribute.parse("#stablehlo<comparison_direction GT>")), b, a)


def divisor(a, b):
    """The greatest that divides both, by Euclid's loop."""
    kind = a.type
    loop = hlo.WhileOp([kind, kind], [a, b])
    with ir.InsertionPoint(loop.regions[0].blocks.append(kind, kind)) as at:
        zero = hlo.constant(ir.DenseElementsAttr.get(np.zeros((), np.int16)))
        hlo.return_([hlo.compare(at.block.arguments[1], zero, ir.Attribute.parse("#stablehlo<comparison_direction NE>"))])
    with ir.InsertionPoint(loop.regions[1].blocks.append(kind, kind)) as at:
        a, b = at.block.arguments
        hlo.return_([b, hlo.remainder(a, b)])
    return hlo.abs(loop.results[0])


def numpy_joined(a, b):
    return a + b + a * b


def numpy_farther(a, b):
    return np.where(np.abs(b) > np.abs(a), b, a)


def region(op, element, reducer):
    block = op.regions[0].blocks.append(*[ir.RankedTensorType.get([], element)] * 2)
    with ir.InsertionPoint(block):
        hlo.return_([reducer(*block.arguments)])


def lower(ctx, x, *, reducer, groups, scatter):
    kind = ir.RankedTensorType(x.type)
    channel = hlo.ChannelHandle.get(ctx.module_context.new_channel(), 1)
    table = np.full((len(groups), max(map(len, groups))), -1, np.int64)  # -1: no more members
    for row, group in zip(table, groups):
        row[: len(group)] = group
    common = dict(replica_groups=ir.DenseIntElementsAttr.get(table), channel_handle=channel,
                  use_global_device_ids=ir.BoolAttr.get(True))
    if scatter:
        part = ir.RankedTensorType.get([kind.shape[0] // len(groups[0]), *kind.shape[1:]], kind.element_type)
        op = hlo.ReduceScatterOp(part, x, ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0), **common)
    else:
        op = hlo.AllReduceOp([kind], [x], **common)
    region(op, kind.element_type, reducer)
    return op.results


reduce_by = Primitive("reduce_by")
reduce_by.def_abstract_eval(lambda x, *, groups, scatter, **_: jax.core.ShapedArray(
    (x.shape[0] // len(groups[0]) if scatter else x.shape[0], *x.shape[1:]), x.dtype))
mlir.register_lowering(reduce_by, lower)


def got(parts, **how):
    """parts: [n, ...] of all devices; what each device that is here has afterwards, by its number."""
    rows = jax.make_array_from_callback((n * parts.shape[1], *parts.shape[2:]), NamedSharding(mesh, P("x")),
                                        lambda index: parts.reshape(-1, *parts.shape[2:])[index])
    reduced = jax.jit(jax.shard_map(functools.partial(reduce_by.bind, **how), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                                    check_vma=False))(rows)
    return {shard.device.id: np.asarray(shard.data) for shard in reduced.addressable_shards}


wrong, count = [], 0


def check(reducer, oracle, parts, groups, scatter):
    global count
    for device, result in got(parts, reducer=reducer, groups=groups, scatter=scatter).items():
        group = next(g for g in groups if device in g)
        wanted = functools.reduce(oracle, [parts[member] for member in group])
        if scatter:
            wanted = np.split(wanted, len(group))[group.index(device)]
        count += 1
        # Multiplied and added in one operation, the sum is rounded once less.
        near = reducer is joined and parts.dtype != np.int16
        if not (np.allclose(result, wanted, 1e-5, 1e-5) if near else np.array_equal(result, wanted)):
            wrong.append([reducer.__name__, parts.dtype.name, *parts.shape[1:], groups, scatter])


def random_parts(dtype, rows, columns):
    shape = (n, rows, columns)
    return (random.integers(-9, 9, shape) if dtype == np.int16 else random.standard_normal(shape)).astype(dtype)


for columns in (3, 20011):  # one round; by parts, which have to be padded
    for dtype in (np.float32, np.float64, np.int16):
        parts = random_parts(dtype, 8 * n, columns)
        for reducer, oracle in ((joined, numpy_joined), (farther, numpy_farther)):
            for groups in (ALL, PAIRS):
                for scatter in (False, True):
                    check(reducer, oracle, parts, groups, scatter)
    check(farther, numpy_farther, random_parts(np.float32, 8 * n, columns), RAGGED, False)
for columns in (3, 2003):
    parts = random_parts(np.int16, 8 * n, columns) * 6
    for groups, scatter in ((ALL, False), (PAIRS, True), (RAGGED, False)):
        check(divisor, np.gcd, parts, groups, scatter)
tell({"count": count, "wrong": wrong})
