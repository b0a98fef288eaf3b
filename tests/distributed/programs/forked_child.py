"""A child that is forked off ends as any Python program does; the job goes on without having noticed."""

import os
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from told import distributed, tell

warnings.simplefilter("ignore")  # JAX warns of forks
distributed()
sharding = NamedSharding(Mesh(np.array(jax.devices()), ("d",)), PartitionSpec("d"))
ones = jax.make_array_from_callback((12,), sharding, lambda index: np.ones(12, np.float32)[index])
total = jax.jit(jnp.sum)
before = float(total(ones))
if child := os.fork():
    status = os.waitpid(child, 0)[1]
    tell({"child": status, "before": before, "after": float(total(ones))})
else:
    sys.exit(0)
