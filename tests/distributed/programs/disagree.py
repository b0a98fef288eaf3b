"""Under mpirun, but with other numbers for jax.distributed: argument "swapped" or "alone". Tells what JAX says."""

import os
import sys

from told import tell

import jax

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
os._exit(0)  # the others of jax.distributed have failed too; nobody waits for them
