"""Process 0 sends large arrays, and has done, to process 1, which is killed before it reads them; then it wants something of it.

Process 0 tells whether its own results were good, the error of the collective that needs process 1, and what a local
computation gives after that, and ends as programs do.
"""

from told import distributed, tell

import os
import signal
import time

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
mesh = Mesh(np.array(jax.devices()), ("d",))
values = np.ones((2, 2**20), np.float32)
array = jax.make_array_from_callback(values.shape, NamedSharding(mesh, P("d")), lambda i: values[i])


def program(f):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d")))


send = program(lambda v: jax.lax.ppermute(v, "d", [(0, 1)]))
total = program(lambda v: v + jax.lax.psum(v, "d"))
assert float(total(array).addressable_data(0)[0, 0]) == 3
if jax.process_index() == 1:
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
start = time.time()
results = jax.block_until_ready([send(array) for _ in range(3)])
told = {"zeros": all(not np.asarray(r.addressable_data(0)).any() for r in results), "sent_in": time.time() - start}
try:
    jax.block_until_ready(total(array))
except Exception as error:
    told["error"] = str(error)
told["local"] = float(jax.jit(lambda v: v * 2)(jax.device_put(np.float32(21), jax.local_devices()[0])))
tell(told, process=0)
