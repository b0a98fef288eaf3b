"""Process 0, which only sends, is thousands of runs ahead of the two others, of which one is busy elsewhere meanwhile."""

from told import tell

import time

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.make_array_from_callback((3, 1), NamedSharding(mesh, P("d")), lambda i: np.ones((3, 1), np.float32)[i])


def program(f, out):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=out))


pass_on = program(lambda x: lax.ppermute(x, "d", [(0, 2), (2, 1)]), P("d"))
total = program(lambda x: lax.psum(x, "d"), P())
jax.block_until_ready((pass_on(x), total(x)))
for step in range(6000):
    if jax.process_index() == 2 and step == 20:
        time.sleep(4)
    pass_on(x).block_until_ready()
tell(float(total(x).addressable_data(0)[0, 0]))
