"""The last process dies without a word; the others go on with the devices that are alive (multihost_utils.live_devices)."""

import os

os.environ["JAX_ENABLE_RECOVERABILITY"] = "1"

from told import tell

import signal
import time

import jax
import numpy as np
from jax.experimental import multihost_utils

count, rank = int(os.environ["TEST_PROCESSES"]), int(os.environ["TEST_PROCESS"])
jax.distributed.initialize(os.environ["TEST_COORDINATOR"], count, rank, heartbeat_timeout_seconds=5)


def total(devices):
    mesh = jax.sharding.Mesh(np.array(devices), "x")
    x = jax.make_array_from_callback((len(devices), 3), jax.NamedSharding(mesh, jax.P("x")), lambda i: np.ones((1, 3), np.int32))
    summed = jax.jit(lambda v: v.sum(0), out_shardings=jax.NamedSharding(mesh, jax.P()))(x)
    return int(summed.addressable_data(0)[0])


before = failed = None
with multihost_utils.live_devices(jax.devices()) as live:
    before = total(live)
try:
    with multihost_utils.live_devices(jax.devices()) as live:
        if rank == count - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        total(live)
except multihost_utils.ProcessFailureError as error:
    failed = sorted(d.id for d in error.failed_devices)
with multihost_utils.live_devices(jax.devices()) as live:
    after = total(live)
tell({"before": before, "failed": failed, "live": [d.id for d in live], "after": after})
# With a dead process among them JAX's own goodbye fails in both; what is tested is over.
time.sleep(1 if rank == 0 else 0)
os._exit(0)
