"""Arrays that leave their process: device_put between sets of devices of different processes, multihost_utils, and the
ways to make an array of what each process has. Each check is against the NumPy array that went in."""

from told import distributed, tell

distributed()

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

rank, count, devices = jax.process_index(), jax.process_count(), jax.devices()
per = len(devices) // count
own = [[d for d in devices if d.process_index == p] for p in range(count)]
everywhere = Mesh(np.array(devices), "x")
on = lambda some: NamedSharding(Mesh(np.array(some), "x"), P("x"))
checks = 0


def same(got, want):
    global checks
    np.testing.assert_array_equal(got, want)
    checks += 1


# From process to process and back to the first: a matrix, nothing, and four bits an element.
for x in (np.arange(per * 15, dtype=np.float32).reshape(per * 3, 5), np.zeros((per, 0), np.int8),
          np.arange(per * 2).astype(jax.numpy.int4)):
    array = jax.make_array_from_callback(x.shape, on(own[0]), lambda index: x[index], dtype=x.dtype)
    for hop in [*range(1, count), 0]:
        array = jax.device_put(array, on(own[hop]))
        if rank == hop:
            same(np.asarray(array), x)

# What is not row-major here is so there.
z = np.arange(per * 15, dtype=np.float32).reshape(per * 3, 5)
array = jax.make_array_from_callback(z.shape, on(own[0]), lambda index: z[index], dtype=z.dtype)
if rank == 0:
    array = jax.jit(lambda v: v + 1, out_shardings=Format(Layout((1, 0)), on(own[0])))(array)
else:
    array = jax.make_array_from_single_device_arrays(z.shape, on(own[0]), [], dtype=z.dtype)
array = jax.device_put(array, on(own[-1]))
if rank == count - 1:
    same(np.asarray(array), z + 1)

# One device of each process -> as many of the last one; what a program has made goes too.
if per >= count:
    y = np.arange(count * 4, dtype=np.int32).reshape(count, 4)
    spread = on([group[0] for group in own])
    array = jax.make_array_from_callback(y.shape, spread, lambda index: y[index])
    array = jax.device_put(jax.jit(lambda v: v * 2, out_shardings=spread)(array), on(own[-1][:count]))
    if rank == count - 1:
        same(np.asarray(array), y * 2)

# Other order of the same devices.
mine = np.full((per, 2), rank, np.float32)
all_of_them = np.repeat(np.arange(count), per)[:, None] * np.ones((1, 2))
array = jax.make_array_from_process_local_data(NamedSharding(everywhere, P("x")), mine)
same(multihost_utils.process_allgather(array, tiled=True), all_of_them)
same(multihost_utils.process_allgather(jax.device_put(array, on(devices[::-1])), tiled=True), all_of_them)

same(multihost_utils.process_allgather(np.full(2, rank)), np.arange(count)[:, None] * np.ones((1, 2)))
same(multihost_utils.broadcast_one_to_all(np.arange(3.0) * (rank == 0)), np.arange(3.0))
array = multihost_utils.host_local_array_to_global_array(mine, everywhere, P("x"))
same(multihost_utils.global_array_to_host_local_array(array, everywhere, P("x")), mine)
parts = [jax.device_put(np.full((1, 2), d.id, np.float32), d) for d in own[rank]]
array = jax.make_array_from_single_device_arrays((len(devices), 2), NamedSharding(everywhere, P("x")), parts)
same(jax.jit(lambda v: v.sum(0), out_shardings=NamedSharding(everywhere, P()))(array).addressable_data(0),
     np.full(2, sum(range(len(devices)))))
multihost_utils.sync_global_devices("all have come here")
multihost_utils.assert_equal(np.arange(4), "these are equal")
try:
    multihost_utils.assert_equal(np.arange(2) + rank, "these are not")
except AssertionError:
    checks += 1
tell(checks)
