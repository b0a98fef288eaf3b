"""Process 0 sends process 1, which is busy elsewhere for a while, small messages that it need not wait for."""

from told import tell

import resource
import time

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

RUNS, LENGTH = 40_000, 2000
mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.make_array_from_callback((2, LENGTH), NamedSharding(mesh, P("d")), lambda i: np.ones((2, LENGTH), np.float32)[i])
sends = jax.jit(jax.shard_map(lambda x: lax.ppermute(x, "d", [(0, 1)]), mesh=mesh, in_specs=P("d"), out_specs=P("d")))


def most_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


for _ in range(1000):
    received = sends(x)
received.block_until_ready()
before = most_memory()
if jax.process_index() == 1:
    time.sleep(5)
for _ in range(RUNS):
    received = sends(x)
received.block_until_ready()
tell({"grown": most_memory() - before, "all": float(received.addressable_data(0).sum())})
