"""Forty meshes over the same devices in other orders, each with its own groups; tells how many sums are wrong, and the longest first use."""

from told import distributed, tell

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

distributed()
n = jax.device_count()
random = np.random.default_rng(3)
wrong, longest = 0, 0.0
for _ in range(40):
    mesh = Mesh(random.permutation(np.array(jax.devices())).reshape(n // 2, 2), ("a", "b"))
    values = random.integers(-99, 99, (n // 2, 2, 5)).astype(np.float32)
    x = jax.make_array_from_callback(values.shape, NamedSharding(mesh, P("a", "b")), lambda i: values[i])
    both = jax.jit(jax.shard_map(lambda v: (jax.lax.psum(v, "a"), jax.lax.psum(v, "b")), mesh=mesh, in_specs=P("a", "b"),
                                 out_specs=(P(None, "b"), P("a"))))
    start = time.time()
    out = jax.block_until_ready(both(x))
    longest = max(longest, time.time() - start)
    for array, wanted in zip(out, (values.sum(0, keepdims=True), values.sum(1, keepdims=True))):
        wrong += sum(not np.array_equal(np.asarray(s.data), wanted[s.index]) for s in array.addressable_shards)
tell({"wrong": wrong, "longest": longest})
