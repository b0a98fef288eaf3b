"""Tells which MPI or UCX libraries are loaded, and how many network sockets are open, after a computation."""

import os

from told import tell

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))
x = jax.make_array_from_callback((n,), NamedSharding(mesh, P("d")), lambda i: np.arange(n, dtype=np.float32)[i])
assert float(jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, P()))(x)) == n * (n - 1) / 2
with open("/proc/self/maps") as maps:
    files = {os.path.basename(line.split()[-1]) for line in maps if "/" in line}


def is_socket(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    except OSError:
        return False


tell({
    "libraries": sorted(f for f in files if f.startswith(("libmpi", "libopen-rte", "libucp", "libuct", "libshoal_mpi"))),
    "sockets": sum(map(is_socket, os.listdir("/proc/self/fd"))),
})
