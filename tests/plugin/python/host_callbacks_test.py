"""Host callbacks under JAX's transformations, what is left after one has failed, and callbacks that use the devices themselves.

NumPy says what the values are; ffi_test.py has the single callback, tests/distributed/callbacks_test.py several processes.
"""

import pytest
from plugin_test import installed, run  # noqa: F401: a fixture

CALLS = """
    from jax import lax
    from jax.experimental import io_callback
    like = lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.asarray(x).dtype)
    host_sin = lambda v: np.sin(np.asarray(v)).astype(np.asarray(v).dtype)
    sin = lambda x: jax.pure_callback(host_sin, like(x), x, vmap_method="sequential")
    near = lambda got, want: np.testing.assert_allclose(got, want, 1e-5)
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
"""


def test_under_transformations():
    run(CALLS + """
    with_slope = jax.custom_jvp(sin)
    with_slope.defjvp(lambda p, t: (with_slope(p[0]), jnp.cos(p[0]) * t[0]))
    near(jax.jit(jax.vmap(jax.grad(with_slope)))(x.ravel()), np.cos(x.ravel()))

    def steps(v):
        state, seen = v, []
        for i in range(4):
            seen.append(state.sum())
            state = np.sin(state) + np.float32(i)
        return state, seen
    got = jax.jit(lambda v: lax.scan(lambda c, i: (sin(c) + i, c.sum()), v, jnp.arange(4, dtype=jnp.float32)))(x)
    for a, b in zip(got, steps(x)):
        near(a, b)

    want = x
    while want.sum() < 20:
        want = np.sin(want) + 1
    less = lambda c: jax.pure_callback(lambda v: np.bool_(v.sum() < 20), jax.ShapeDtypeStruct((), bool), c)
    near(jax.jit(lambda v: lax.while_loop(less, lambda c: sin(c) + 1, v))(x), want)

    # The values that a checkpoint computes again are told again.
    told = []
    def f(v):
        jax.debug.callback(lambda u: told.append(round(float(u), 4)), v)
        return jnp.sin(v)
    near(jax.grad(lambda v: jax.checkpoint(f)(v))(1.0), np.cos(1))
    jax.effects_barrier()
    assert told and set(told) == {1.0}, told

    # Effects of loops and branches keep the program's order.
    told = []
    note = lambda word, v: io_callback(lambda u: told.append((word, int(u))), None, v, ordered=True)
    def body(i, c):
        lax.cond(i % 2 == 0, lambda: note("even", i), lambda: note("odd", i))
        return c + i
    assert jax.jit(lambda n: lax.fori_loop(0, n, body, 0))(4) == 6
    jax.effects_barrier()
    assert told == [("even", 0), ("odd", 1), ("even", 2), ("odd", 3)], told
    """)


@pytest.mark.parametrize("kind", ["io", "io_ordered", "debug", "debug_ordered", "in_scan"])
def test_what_comes_after_a_failure_is_whole(kind):
    run(CALLS + f"    kind = {kind!r}\n" + """
    def bad(v):
        raise LookupError("told so")
    f = {"io": lambda v: io_callback(bad, like(v), v),
         "io_ordered": lambda v: io_callback(bad, like(v), v, ordered=True),
         "debug": lambda v: (jax.debug.callback(bad, v), v)[1],
         "debug_ordered": lambda v: (jax.debug.callback(bad, v, ordered=True), v)[1],
         "in_scan": lambda v: lax.scan(lambda c, _: (jax.pure_callback(bad, like(c), c), 0), v, None, 3)[0]}[kind]
    try:
        jax.jit(f)(x).block_until_ready()
        jax.effects_barrier()
        raise SystemExit("no error")
    except jax.errors.JaxRuntimeError as error:
        assert "LookupError: told so" in str(error), error
    try:
        jax.effects_barrier()  # may tell it once more
    except jax.errors.JaxRuntimeError as error:
        assert "told so" in str(error)
    told = []
    near(jax.jit(sin)(x), np.sin(x))
    for i in range(3):
        jax.jit(lambda v: io_callback(lambda u: told.append(int(u)), None, v, ordered=True))(i)
    jax.effects_barrier()
    assert told == [0, 1, 2], told
    """)


def test_callbacks_of_one_device_fail_or_use_all_devices():
    run(CALLS + """
    from jax.sharding import Mesh, PartitionSpec as P
    n = len(jax.devices())
    mesh = Mesh(np.array(jax.devices()), ("x",))
    everywhere = lambda f: jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
    a = np.arange(4 * n, dtype=np.float32)
    want = np.sin(a) + a.sum()
    total = everywhere(lambda v: sin(v) + lax.psum(v.sum(), "x"))
    near(total(a), want)

    def one_fails(v):
        if v[0] == 0:
            raise RuntimeError("one fails")
        return np.asarray(v)
    try:
        everywhere(lambda v: jax.pure_callback(one_fails, like(v), v) + lax.psum(v, "x"))(a).block_until_ready()
        raise SystemExit("no error")
    except jax.errors.JaxRuntimeError as error:
        assert "one fails" in str(error), error
    near(total(a), want)

    # A callback that runs a program of all devices, collectives and callbacks in it.
    inside = lambda v: np.asarray(total(a))[:v.shape[0]] + np.asarray(v)
    near(jax.jit(lambda v: jax.pure_callback(inside, like(v), v))(a[:3]), want[:3] + a[:3])
    try:
        jax.effects_barrier()
    except jax.errors.JaxRuntimeError as error:
        assert "one fails" in str(error)
    """)
