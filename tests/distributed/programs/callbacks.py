"""Host callbacks of programs over several processes: one device's, every device's, one that fails."""

from told import tell

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
n = jax.device_count()
x = jax.make_array_from_callback((n,), NamedSharding(mesh, P("d")), lambda i: np.arange(n, dtype=np.float32)[i])
seen = []


def negate(v):
    seen.append(np.asarray(v).tolist())
    return -np.asarray(v)


def fail(v):
    raise ValueError("from the host")


def call(function):
    return lambda v: jax.pure_callback(function, jax.ShapeDtypeStruct(v.shape, v.dtype), v)


everywhere = NamedSharding(mesh, P())
whole = np.asarray(jax.jit(call(negate), out_shardings=everywhere)(x).addressable_data(0)).tolist()
once = list(seen)
seen.clear()
jax.jit(jax.shard_map(call(negate), mesh=mesh, in_specs=P("d"), out_specs=P("d")))(x).block_until_ready()
try:
    jax.jit(call(fail), out_shardings=everywhere)(x).block_until_ready()
    error = ""
except jax.errors.JaxRuntimeError as e:
    error = str(e)
after = float(jax.jit(jnp.sum, out_shardings=everywhere)(x))
tell({"whole": whole, "once": once, "shards": sorted(seen), "error": "ValueError: from the host" in error,
      "blamed": re.findall(r"INTERNAL: (process \d+) \(\S+, pid \d+\): ", error), "after": after})
