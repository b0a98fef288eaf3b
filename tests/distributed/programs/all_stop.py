"""All processes are stopped for longer than SHOAL_TIMEOUT_S while one waits for another, and go on."""

from told import tell

import os
import subprocess
import time

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

BEFORE, STOPPED, AFTER = 1, 9, 2  # seconds
mesh = Mesh(np.array(jax.devices()), ("d",))
n = len(jax.devices())
x = jax.make_array_from_callback((n,), NamedSharding(mesh, P("d")), lambda i: np.ones(n, np.float32)[i])
total = jax.jit(jax.shard_map(lambda x: lax.psum(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P()))
total(x).block_until_ready()
start = time.time()
subprocess.Popen(["sh", "-c", f"sleep {BEFORE}; kill -STOP {os.getpid()}; sleep {STOPPED}; kill -CONT {os.getpid()}"])
if jax.process_index() == 1:
    time.sleep(BEFORE + STOPPED + AFTER)
tell({"total": float(total(x).addressable_data(0)[0]), "seconds": time.time() - start})
