"""A program whose devices take different branches, or loops of different lengths; or one that is right, but slow.

Argument: which (PROGRAMS below, or checkerboard). Every process tells the error and after how many seconds it came, or the result.
"""

from told import tell

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))
square = Mesh(np.array(jax.devices()).reshape(-1, jax.local_device_count()), ("p", "q"))


def sharded(values):
    return jax.make_array_from_callback(values.shape, NamedSharding(mesh, P("d")), lambda i: values[i])


def sharded_program(f):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))


def total(x):
    return lax.psum(x, "d")


def gathered(x):
    return lax.all_gather(x, "d").sum(0)


def permuted(x):
    return lax.ppermute(x, "d", [(i, (i + 1) % n) for i in range(n)])


def first_apart(one, other):
    """The first device does `one`, all others do `other`."""
    return lambda x: lax.cond(lax.axis_index("d") == 0, one, other, x)


def ring(x):
    """Each device gets from the next one, which is in another branch."""
    return lax.switch(lax.axis_index("d"), [lambda x, d=d: lax.ppermute(x, "d", [((d + 1) % n, d)]) for d in range(n)], x)


def checkerboard(x):
    """Along the processes, or within one."""
    def apart(x):
        black = (lax.axis_index("p") + lax.axis_index("q")) % 2 == 0
        return lax.cond(black, lambda x: lax.psum(x, "q"), lambda x: lax.psum(x, "p"), x)

    return jax.shard_map(apart, mesh=square, in_specs=P(("p", "q")), out_specs=P(("p", "q")), check_vma=False)(x)


def longer_loop(x):
    trips = jnp.where(lax.axis_index("d") == 0, 3, 2)
    return total(lax.while_loop(lambda s: s[0] < trips, lambda s: (s[0] + 1, total(s[1])), (0, x))[1])


def sleep(device, x):
    if device == 0:
        time.sleep(4)
    return x


def slow_callback(x):
    x = jax.pure_callback(sleep, jax.ShapeDtypeStruct(x.shape, x.dtype), lax.axis_index("d"), total(x))
    return lax.cond(x[0, 0] > 0, gathered, total, x)


def spin(rounds, x):
    return lax.fori_loop(0, rounds, lambda i, x: jnp.sin(x), x)


def rounds_of(seconds):
    """At least so many, however busy the machine is just now."""
    timed = jax.jit(spin)
    value = np.ones((1, 8), np.float32)
    timed(1, value).block_until_ready()
    times = []
    for _ in range(5):
        start = time.time()
        timed(50_000, value).block_until_ready()
        times.append(time.time() - start)
    return int(50_000 * seconds / min(times))


def slow_computation(x, rounds):
    y = spin(rounds[0], total(x))
    return lax.cond(jnp.isfinite(y[0, 0]), gathered, total, x)


PROGRAMS = {
    "other kinds": first_apart(total, gathered),
    "one kind": first_apart(total, lambda x: total(x) * 2),
    "permute": first_apart(permuted, total),
    "none, then one": lambda x: gathered(first_apart(total, lambda x: x)(x)),
    "one, then none": first_apart(total, lambda x: x),
    "longer loop": longer_loop,
    "ring": ring,
    "slow callback": slow_callback,
    "slow computation": slow_computation,
}

which = sys.argv[1]
arguments = [sharded(np.ones((n, 8), np.float32))]
if which == "slow computation":
    arguments.append(sharded(np.where(np.arange(n) == 0, rounds_of(4), 1).astype(np.int32)))
good = sharded_program(lambda x: total(x) + gathered(x))
program = jax.jit(checkerboard) if which == "checkerboard" else sharded_program(PROGRAMS[which])
program = program.lower(*arguments).compile()
jax.block_until_ready(good(arguments[0]))
start = time.time()
told = {}
try:
    result = jax.block_until_ready(program(*arguments))
    told["value"] = float(result.addressable_data(0)[0, 0])
except Exception as error:
    told["error"] = f"{type(error).__name__}: {error}"
told["seconds"] = time.time() - start
# Other runs are not concerned.
told["again"] = float(jax.block_until_ready(good(arguments[0])).addressable_data(0)[0, 0])
tell(told)
