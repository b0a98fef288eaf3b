"""Random collectives of random types, sizes, meshes and groups, several in a program and several programs under way,
against NumPy, until the time is over.

Arguments: seed, seconds, threads. Each thread has its own programs, and dispatches them when it likes. Tells how many
were run and how much memory the process has, after a third of the time and at the end; ends with an error where one is wrong.
With TEST_DIRECTORY it first writes its pid to pid.N there, and touches running.N when it gets going.
"""

from told import distributed, tell

import os
import pathlib
import sys
import threading
import time

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

seed, seconds, threads = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
PROGRAMS = 12  # of a thread: compiled once each, so that memory has a level
TYPES = [np.float64, np.float32, np.float16, jnp.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64,
         np.uint64, np.bool_, np.complex64, np.complex128, jnp.int2, jnp.uint2, jnp.int4, jnp.uint4, ml_dtypes.float8_e4m3fn,
         ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e5m2fnuz]
AXES = ("a", "b", "c")

jax.config.update("jax_enable_x64", True)
distributed()
n = jax.device_count()


class One:
    """A collective over some axes of a mesh, and what NumPy says of it."""

    def __init__(self, random, shape):
        self.kind = random.choice(["sum", "max", "gather", "scatter", "exchange", "permute"])
        self.axes = tuple(random.permutation([a for a in range(3) if random.random() < 0.6]).tolist())
        if self.kind in ("exchange", "permute") or not self.axes:
            self.axes = (int(random.integers(3)),)
        self.n = int(np.prod([shape[a] for a in self.axes]))
        self.dtype = np.dtype(TYPES[random.integers(len(TYPES))])
        if self.dtype.kind == "b" and self.kind in ("sum", "scatter") or self.dtype.kind == "c" and self.kind == "max":
            self.dtype = np.dtype(np.float32)
        # StableHLO has no all-gather of nothing, nor the like.
        least = 0 if self.kind in ("sum", "max", "permute") else 1
        part = int(random.integers(least, 2 ** random.integers(1, 17))) if random.random() < 0.9 else least
        self.length = part * self.n if self.kind in ("scatter", "exchange") else part
        ranks = random.permutation(self.n)
        self.pairs = [(int(s), int(t)) for s, t in zip(ranks, random.permutation(ranks)) if random.random() < 0.8]

    def values(self, random, shape):
        # Small: every sum of eight of them is exact in every type.
        low, high = (-1, 1) if self.dtype.itemsize == 1 and self.dtype != np.int8 else (-9, 9)
        if self.dtype.kind in "ub" or self.dtype.name == "uint4":
            low, high = 0, 1
        if self.dtype.name in ("int4", "int2", "uint2"):
            low, high = 0, 1 if self.kind in ("max", "gather", "exchange", "permute") else 0
        return random.integers(low, high + 1, (*shape, self.length)).astype(self.dtype)

    def on_device(self, v):
        v, names = v.reshape(self.length), tuple(AXES[a] for a in self.axes)
        if self.kind == "sum":
            return jax.lax.psum(v, names)
        if self.kind == "max":
            return jax.lax.pmax(v, names)
        if self.kind == "gather":
            return jax.lax.all_gather(v, names, tiled=True)
        if self.kind == "scatter":
            return jax.lax.psum_scatter(v, names, tiled=True)
        if self.kind == "exchange":
            return jax.lax.all_to_all(v, names, 0, 0, tiled=True)
        return jax.lax.ppermute(v, names, self.pairs)

    def wanted(self, values, place):
        group = []
        for rank in np.ndindex(*[values.shape[a] for a in self.axes]):
            at = list(place)
            for axis, position in zip(self.axes, rank):
                at[axis] = position
            group.append(values[tuple(at)])
        own = int(np.ravel_multi_index([place[a] for a in self.axes], [values.shape[a] for a in self.axes]))
        if self.kind == "permute":
            return next((group[s] for s, t in self.pairs if t == own), np.zeros_like(group[own]))
        if self.kind == "gather":
            return np.concatenate(group)
        if self.kind == "exchange":
            return np.concatenate([g.reshape(self.n, -1)[own] for g in group])
        wide = np.stack(group).astype(np.complex128 if self.dtype.kind == "c" else np.float64)
        whole = wide.max(0) if self.kind == "max" else wide.sum(0)
        return (whole.reshape(self.n, -1)[own] if self.kind == "scatter" else whole).astype(self.dtype)


class Program:
    def __init__(self, random, name):
        factors = [s for s in np.ndindex(n + 1, n + 1, n + 1) if np.prod(s) == n]
        self.shape = factors[random.integers(len(factors))]
        self.ones = [One(random, self.shape) for _ in range(random.integers(1, 4))]
        devices = np.array(jax.devices())
        if random.random() < 0.5:
            devices = random.permutation(devices)
        self.mesh = Mesh(devices.reshape(self.shape), AXES)
        self.sharding = NamedSharding(self.mesh, P(*AXES))

        def body(*blocks):
            return tuple(one.on_device(v)[None, None, None] for one, v in zip(self.ones, blocks))

        body.__name__ = name
        self.call = jax.jit(jax.shard_map(body, mesh=self.mesh, in_specs=P(*AXES), out_specs=P(*AXES), check_vma=False))

    def start(self, random):
        values = [one.values(random, self.shape) for one in self.ones]
        arrays = [jax.make_array_from_callback(v.shape, self.sharding, lambda i, v=v: v[i], dtype=v.dtype) for v in values]
        return values, self.call(*arrays)

    def check(self, values, out):
        for one, v, array in zip(self.ones, values, out):
            for shard in array.addressable_shards:
                place = [i.start or 0 for i in shard.index[:3]]
                got, wanted = np.asarray(shard.data).reshape(-1), one.wanted(v, place)
                if not np.array_equal(got.astype(np.complex128), wanted.astype(np.complex128)):
                    raise AssertionError(f"{one.kind} {one.dtype} over {one.axes} of {self.shape}, {one.length} elements: wrong at "
                                         f"{np.flatnonzero(got != wanted)[:5]} of device {shard.device.id}")


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


counts, compiled, levels, errors = [0] * threads, [False] * threads, [0.0] * threads, []


def work(thread):
    random = np.random.default_rng([seed, thread])  # alike in all processes
    programs = [Program(random, f"program_{seed}_{thread}_{k}") for k in range(PROGRAMS)]
    for program in programs:
        program.check(*program.start(random))
    compiled[thread] = True
    # Everybody stops after the same number: the first process says when.
    go_on = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "d"), mesh=Mesh(np.array(jax.devices()), "d"), in_specs=P("d"),
                                  out_specs=P()))
    go_on.__name__ = f"go_on_{thread}"
    end = time.time() + seconds
    everywhere = NamedSharding(Mesh(np.array(jax.devices()), "d"), P("d"))
    while True:
        for _ in range(10):
            under_way = [(p, *p.start(random)) for p in random.choice(programs, random.integers(1, 4))]
            if random.random() < 0.1:
                time.sleep(random.random() * 0.01 * (1 + jax.process_index()))
            for program, values, out in under_way:
                program.check(values, out)
                counts[thread] += len(program.ones)
        # By now as much has been under way at once as ever will, or nearly; the C library keeps room for that.
        if not levels[thread] and time.time() > end - seconds * 2 / 3:
            levels[thread] = resident()
        mine = np.full(1 + thread, jax.process_index() == 0 and time.time() > end, np.int32)  # its size tells threads apart
        over = go_on(jax.make_array_from_callback((n * mine.size,), everywhere, lambda i: mine))
        if np.asarray(over).any():
            return


def guarded(thread):
    try:
        work(thread)
    except BaseException as error:
        errors.append(error)


directory = pathlib.Path(os.environ["TEST_DIRECTORY"]) if "TEST_DIRECTORY" in os.environ else None
if directory:
    (directory / f"pid.{jax.process_index()}").write_text(str(os.getpid()))
workers = [threading.Thread(target=guarded, args=(t,)) for t in range(threads)]
for worker in workers:
    worker.start()
if directory:
    while not all(compiled) and not errors:
        time.sleep(0.05)
    (directory / f"running.{jax.process_index()}").touch()
for worker in workers:
    worker.join()
tell({"run": sum(counts), "error": "; ".join(f"{type(e).__name__}: {e}" for e in errors), "memory": [max(levels), resident()],
      "end": time.time()})
