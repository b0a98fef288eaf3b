"""Process 0 sends process 1, which is stopped meanwhile, more small messages than there is room for, and ends."""

from told import tell

import os
import signal
import subprocess
import time

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

LENGTH, MESSAGES = 2000, 500
mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.make_array_from_callback((2, LENGTH), NamedSharding(mesh, P("d")), lambda i: np.zeros((2, LENGTH), np.float32)[i])
sends = jax.jit(jax.shard_map(lambda x: lax.ppermute(x + 1, "d", [(0, 1)]), mesh=mesh, in_specs=P("d"), out_specs=P("d")))
forward = jax.jit(lambda x: x + 1)
jax.block_until_ready((sends(x), forward(x)))
if jax.process_index() == 1:
    subprocess.Popen(["sh", "-c", f"sleep 4; kill -CONT {os.getpid()}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.kill(os.getpid(), signal.SIGSTOP)
else:
    time.sleep(0.5)
for _ in range(MESSAGES):
    received = sends(x)
    x = forward(x)
tell(np.unique(received.addressable_data(0)).tolist())
