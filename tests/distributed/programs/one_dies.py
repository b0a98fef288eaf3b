"""Process 1 is killed between two steps; the others tell the error of the step that needs it, and how long it took."""

from told import distributed, tell

import os
import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
mesh = Mesh(np.array(jax.devices()), ("d",))
n = jax.device_count()
x = jax.make_array_from_callback((n, 1000), NamedSharding(mesh, P("d")), lambda i: np.ones((n, 1000), np.float32)[i])
total = jax.jit(lambda x: jnp.sum(x, axis=0), out_shardings=NamedSharding(mesh, P()))
me = jax.process_index()
assert float(total(x)[0]) == n
if me == 1:
    os.kill(os.getpid(), signal.SIGKILL)
start = time.time()
message = "no error"
try:
    for _ in range(100):
        jax.block_until_ready(total(x))
        time.sleep(0.05)
except Exception as error:
    message = f"{type(error).__name__}: {error}"
seconds = time.time() - start
local = float(jax.jit(lambda v: v * 2)(jax.device_put(np.float32(21), jax.local_devices()[0])))
tell({"error": message, "seconds": seconds, "local": local, "pid": os.getpid()}, process=me)
os._exit(0)  # nobody to say goodbye to
