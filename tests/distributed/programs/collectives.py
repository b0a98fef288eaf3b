"""Every collective over all devices, of odd sizes and several types; tells the largest error against NumPy."""

from told import distributed, tell

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))
sharding = NamedSharding(mesh, P("d"))
shift = [(i, (i + 1) % n) for i in range(n)]
random = np.random.default_rng(7)


def ragged_size(source, target, length):
    """How many numbers go from one device to another, of a row that has `length` for each."""
    return (source + 2 * target + 1) % (length + 1)


def ragged(x):
    length = x.shape[1] // n
    me, others = jax.lax.axis_index("d"), jnp.arange(n)
    return jax.lax.ragged_all_to_all(x[0], jnp.zeros_like(x[0]), others * length, ragged_size(me, others, length),
                                     jnp.full(n, me * length), ragged_size(others, me, length), axis_name="d")[None]


def ragged_reference(a):
    length = a.shape[1] // n
    sent = np.arange(length) < ragged_size(np.arange(n)[:, None], np.arange(n), length)[..., None]
    return np.where(sent, a.reshape(n, n, length), 0).swapaxes(0, 1).reshape(a.shape)


def case(name, per_device, reference):
    """(name, what a device does with its row, what NumPy does with all rows)."""
    return name, per_device, reference


CASES = [
    case("all_reduce", lambda x: jax.lax.psum(x, "d"), lambda a: np.repeat(a.sum(0, keepdims=True), n, 0)),
    case("all_reduce_max", lambda x: jax.lax.pmax(x, "d"), lambda a: np.repeat(a.max(0, keepdims=True), n, 0)),
    case("all_gather", lambda x: jax.lax.all_gather(x[0], "d")[None], lambda a: np.repeat(a[None], n, 0)),
    case("collective_permute", lambda x: jax.lax.ppermute(x, "d", shift), lambda a: np.roll(a, 1, 0)),
    case("reduce_scatter", lambda x: jax.lax.psum_scatter(x[0], "d", tiled=True)[None],
         lambda a: a.sum(0).reshape(n, -1)),
    case("all_to_all", lambda x: jax.lax.all_to_all(x[0].reshape(n, -1), "d", 0, 0)[None],
         lambda a: a.reshape(n, n, -1).swapaxes(0, 1)),
    case("ragged_all_to_all", ragged, ragged_reference),
]


def rows_of_this_process(out):
    return [(s.index[0].start or 0, np.asarray(s.data)[0]) for s in out.addressable_shards]


def error(name, dtype, length):
    values = random.integers(-50, 50, (n, n * length)).astype(dtype)
    x = jax.make_array_from_callback(values.shape, sharding, lambda i: values[i])
    _, per_device, reference = next(c for c in CASES if c[0] == name)
    out = jax.jit(jax.shard_map(per_device, mesh=mesh, in_specs=P("d"), out_specs=P("d")))(x)
    wanted = reference(values.astype(np.float64))
    return max(float(np.max(np.abs(row.astype(np.float64) - wanted[i]))) for i, row in rows_of_this_process(out))


tell({f"{name} {np.dtype(dtype).name} {length}": error(name, dtype, length)
      for name, _, _ in CASES
      for dtype, length in [(np.float32, 1), (np.float32, 5003), (np.int32, 17), (jnp.bfloat16, 3), (np.float32, 300_007)]})
