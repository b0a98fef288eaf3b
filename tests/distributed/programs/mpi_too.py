"""mpi4py and JAX in one program: argument "before" or "after" says which of the two comes first."""

import sys

from told import tell

if sys.argv[1] == "before":
    from mpi4py import MPI

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
n = jax.device_count()
x = jax.make_array_from_callback((n,), NamedSharding(mesh, P("d")), lambda i: np.arange(n, dtype=np.float32)[i])
total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, P()))
first = float(total(x))
if sys.argv[1] == "after":
    from mpi4py import MPI
by_mpi = MPI.COMM_WORLD.allreduce(jax.process_index())
tell({"jax": first, "again": float(total(x)), "mpi": by_mpi, "rank": MPI.COMM_WORLD.Get_rank()})
