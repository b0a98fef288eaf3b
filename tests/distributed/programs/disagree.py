"""Under mpirun, but with other numbers for jax.distributed: argument "swapped" or "alone". Tells what JAX says."""

import os
import sys
import time

from told import tell

import jax
from jax._src.distributed import global_state

rank, size, port = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"]), int(sys.argv[2])
if sys.argv[1] == "swapped":
    jax.distributed.initialize(f"127.0.0.1:{port}", size, size - 1 - rank)
else:
    jax.distributed.initialize(f"127.0.0.1:{port + rank}", 1, 0)
message = "no error"
try:
    jax.devices()
except RuntimeError as error:
    message = str(error)
tell(message, process=rank)
# JAX's client aborts a process whose coordination service has gone: the process that has it leaves last.
global_state.client.wait_at_barrier("told", 60_000)
if global_state.service is not None:
    time.sleep(1)
os._exit(0)  # without jax.distributed's own end, which would wait for backends that do not exist
