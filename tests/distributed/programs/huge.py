"""Collectives of so many GiB: the biggest array that a process's device gives or gets.

Arguments: GiB, and which (CASES; all of them by default). Tells of each how many rows differ from NumPy's and the seconds.
A psum is in place, and takes that much a device; the others take at most twice as much.
"""

from told import tell

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

COLUMNS, PERIOD, CHECKED = 4096, 61, 61 * 256
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))


def sharded(f, **options):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False), **options)


def pattern(device, row, column):
    """What a device gives at a place, the same PERIOD rows on: less than PERIOD, a byte."""
    return (row * 7 + column * 13 + device * 5) % PERIOD


def made(rows):
    row, column = (lax.broadcasted_iota(jnp.int32, (rows, COLUMNS), d) for d in (0, 1))
    return pattern(lax.axis_index("d"), row, column).astype(jnp.uint8)


# NumPy's own, by device and row.
GIVEN = pattern(*np.ogrid[:n, :PERIOD, :COLUMNS]).astype(np.uint8)
SUM = GIVEN.sum(0, dtype=np.uint8)


def given(device, rows):
    return GIVEN[device, rows % PERIOD]


def summed(rows):
    return SUM[rows % PERIOD]


# What is done to a device's array, the rows that NumPy expects at a device, of `rows` that each one gave, and the share
# of what the biggest array may have that a device gives.
CASES = {
    "psum": (lambda v: lax.psum(v, "d"), lambda d, at, rows: summed(at), 1),
    "all_gather": (lambda v: lax.all_gather(v, "d", tiled=True), lambda d, at, rows: given(at // rows, at % rows), 1 / n),
    "reduce_scatter": (lambda v: lax.psum_scatter(v, "d", tiled=True), lambda d, at, rows: summed(at + d * (rows // n)), 1),
    "all_to_all": (lambda v: lax.all_to_all(v, "d", 0, 0, tiled=True),
                   lambda d, at, rows: given(at // (rows // n), at % (rows // n) + d * (rows // n)), 1),
    "ppermute": (lambda v: lax.ppermute(v, "d", [(i, (i + 1) % n) for i in range(n)]), lambda d, at, rows: given((d - 1) % n, at), 1),
}


def run(gib, collective, expected, share):
    rows = int(gib * share * 2**30) // COLUMNS // n * n
    seeds = jax.make_array_from_callback((n,), NamedSharding(mesh, P("d")), lambda i: np.zeros(n, np.uint8)[i])
    x = jax.block_until_ready(sharded(lambda _: made(rows))(seeds))
    start = time.time()
    y = jax.block_until_ready(sharded(collective, donate_argnums=0)(x))
    seconds = time.time() - start
    del x
    wrong = 0
    for shard in y.addressable_shards:
        for first in range(0, shard.data.shape[0], CHECKED):
            at = np.arange(first, min(first + CHECKED, shard.data.shape[0]))
            got = np.asarray(lax.dynamic_slice_in_dim(shard.data, first, len(at)))
            wrong += int((got != expected(shard.device.id, at, rows)).any(1).sum())
    return {"wrong": wrong, "rows": y.shape[0] // n, "seconds": round(seconds, 2)}


tell({which: run(float(sys.argv[1]), *CASES[which]) for which in sys.argv[2:] or CASES})
