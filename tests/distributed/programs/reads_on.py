"""Collectives of large arrays between processes that come late, each in their turn: who has its result goes on, gives its
arrays back or donates them, and writes others where they lay, while peers still read them.

Arguments: seed, rounds. Tells how many collectives were run, how many elements were wrong, and how often process 0 had done
with a shift, in which it gets nothing, before the last to come had begun. In the end process 0 sends to the last process, which sleeps, and ends at once.
"""

from told import distributed, tell

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

seed, rounds = int(sys.argv[1]), int(sys.argv[2])
LATE_S, SHIFT_LATE_S = 0.03, 0.4
distributed()
n, rank = jax.device_count(), jax.process_index()
mesh = Mesh(np.array(jax.devices()), ("x",))
sharding = NamedSharding(mesh, P("x"))
KINDS = ("sum", "gather", "scatter", "exchange", "shift")
PAIRS = [(i, i + 1) for i in range(n - 1)]  # who is first has no source, and waits for nobody


def collective(kind, v):  # of one device: [1, n, part]
    v = v[0]
    if kind == "sum":
        v = jax.lax.psum(v, "x")
    elif kind == "gather":
        v = jax.lax.all_gather(v[0], "x")
    elif kind == "scatter":
        v = jax.lax.psum_scatter(v, "x", scatter_dimension=0)[None]
    elif kind == "exchange":
        v = jax.lax.all_to_all(v, "x", 0, 0)
    else:
        v = jax.lax.ppermute(v, "x", PAIRS)
    return v[None]


def expected(kind, values):  # [n, n, part]
    if kind == "sum":
        return np.broadcast_to(values.sum(0), values.shape)
    if kind == "gather":
        return np.broadcast_to(values[:, 0], values.shape)
    if kind == "scatter":
        return values.sum(0)[:, None]
    if kind == "exchange":
        return values.swapaxes(0, 1)
    return np.concatenate([np.zeros_like(values[:1]), values[:-1]])


programs = {}


def program(kind, donate):
    if (kind, donate) not in programs:
        f = jax.shard_map(lambda v: collective(kind, v), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
        programs[kind, donate] = jax.jit(f, donate_argnums=0 if donate else ())
    return programs[kind, donate]


random = np.random.default_rng(seed)
told = {"count": 0, "wrong": 0, "early": 0}
for k in range(rounds):
    kind, donate, part = KINDS[random.integers(len(KINDS))], bool(random.integers(2)), int(random.choice([5_000, 70_001, 300_000])) // n
    judges = kind == "shift" and part * n > 10_000
    late = 1 if judges else int(random.integers(jax.process_count()))
    values = random.integers(0, 1000, (n, n, part)).astype(np.float32)
    array = jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
    jax.block_until_ready(array)
    if rank == late:
        time.sleep(SHIFT_LATE_S if judges else LATE_S)
    start = time.perf_counter()
    result = program(kind, donate)(array)
    if kind == "shift" and k % 3 == 0:  # at once once more, perhaps into memory that others read
        result, values = program(kind, donate)(result), expected(kind, values)
    jax.block_until_ready(result)
    told["early"] += judges and rank == 0 and time.perf_counter() - start < SHIFT_LATE_S / 2
    del array
    litter = [jax.device_put(np.full((n, part), -1.0, np.float32), d) for d in jax.local_devices() for _ in range(2)]
    want = expected(kind, values)
    for shard in result.addressable_shards:
        told["wrong"] += int(np.sum(np.asarray(shard.data) != want[shard.index]))
    jax.block_until_ready(litter)
    told["count"] += 1

values = np.arange(n * 2**20, dtype=np.float32).reshape(n, -1)
array = jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
send = jax.jit(jax.shard_map(lambda v: jax.lax.ppermute(v, "x", [(0, n - 1)]), mesh=mesh, in_specs=P("x"), out_specs=P("x")))
jax.block_until_ready(array)
if rank == jax.process_count() - 1:
    time.sleep(1)
result = jax.block_until_ready(send(array))
if rank == jax.process_count() - 1:
    told["wrong"] += int(np.sum(np.asarray(result.addressable_shards[-1].data)[0] != values[0]))
tell(told)
