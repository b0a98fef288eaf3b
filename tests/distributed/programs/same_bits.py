"""Sums whose last bits depend on the order of addition, and some steps of training (argument 1); tells a digest of every
device's part."""

import hashlib
import sys

from told import distributed, tell

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))
random = np.random.default_rng(11)


def put(values, spec):
    return jax.make_array_from_callback(values.shape, NamedSharding(mesh, spec), lambda i: values[i])


def normal(*shape):
    return (random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)).astype(np.float32)


def per_device(f, out=P("d")):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=out))


def train_step(weights, x, y):
    def loss(w):
        return jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


results = {}
for length in (3, 1001, 70_003):
    x = put(normal(n, length), P("d"))
    results[f"psum {length}"] = per_device(lambda v: jax.lax.psum(v, "d") + 0 * v)(x)
    results[f"psum bf16 {length}"] = per_device(lambda v: jax.lax.psum(v.astype(jnp.bfloat16), "d") + 0 * v)(x)
    wide = put(normal(n, n * length), P("d"))
    results[f"psum_scatter {length}"] = per_device(lambda v: jax.lax.psum_scatter(v[0], "d", tiled=True)[None])(wide)
weights = [put(normal(65, 127) / 50, P()), put(normal(127, 3) / 50, P())]
batch, target = put(normal(n * 6, 65), P("d")), put(normal(n * 6, 3), P("d"))
step = jax.jit(train_step)
for _ in range(int(sys.argv[1])):
    value, weights = step(weights, batch, target)
results["loss"], results["weights 0"], results["weights 1"] = value, *weights
tell({f"{name} {s.device.id}": hashlib.sha256(np.asarray(s.data).tobytes()).hexdigest()[:16]
      for name, array in results.items() for s in array.addressable_shards})
