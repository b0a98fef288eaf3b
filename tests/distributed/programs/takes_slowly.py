"""Process 0 is as far ahead as it may be; process 1 takes small messages slowly, the last long after the timeout; process
2, which gets the same from process 0, waits for nobody for long."""

from told import tell

import time

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

RUNS = 45_000
mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.make_array_from_callback((3, 50), NamedSharding(mesh, P("d")), lambda i: np.ones((3, 50), np.float32)[i])


def sends_to(receiver):
    return jax.jit(jax.shard_map(lambda x: lax.ppermute(x, "d", [(0, receiver)]), mesh=mesh, in_specs=P("d"), out_specs=P("d")))


to_fast, to_slow = sends_to(2), sends_to(1)
start = time.monotonic()
for _ in range(RUNS):
    fast, slow = to_fast(x), to_slow(x)
    if jax.process_index() == 1:
        slow.block_until_ready()
        time.sleep(0.0002)
jax.block_until_ready((fast, slow))
tell({"took": time.monotonic() - start, "all": [float(y.addressable_data(0).sum()) for y in (fast, slow)]})
