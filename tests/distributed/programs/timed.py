"""A few steps of a sharded program, for its timeline; process 1 comes late to the last one."""

from told import distributed, tell

import time

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

distributed()
mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
x = jax.device_put(jnp.ones((jax.device_count() * 300, 70)), NamedSharding(mesh, P("x")))


@jax.jit
def timed_step(x):
    return jnp.tanh(x) - jnp.sum(jnp.sin(x) @ jnp.ones((70, 70)), axis=0) / 1e6


for step in range(4):
    if step == 3 and jax.process_index() == 1:
        time.sleep(0.3)
    x = jax.block_until_ready(timed_step(x))
tell({"pid": __import__("os").getpid()})
