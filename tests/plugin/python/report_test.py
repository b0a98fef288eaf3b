"""shoal.report: bytes, groups, source lines and loops of programs whose traffic can be counted by hand."""

from plugin_test import installed, run  # noqa: F401: a fixture

EIGHT = """
import shoal
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
sh = lambda *p: NamedSharding(mesh, P(*p))
arg = lambda shape, *p: jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sh(*p))
def told(f, *args, out=None):
    return shoal.report(jax.jit(f, out_shardings=out).lower(*args).compile())
"""


def test_bytes_groups_and_source_lines():
    run(
        EIGHT
        + """
r = told(lambda a, b: a @ b, arg((64, 32), None, "x"), arg((32, 48), "x"), out=sh())
(c,) = r.collectives
assert (c.kind, c.shape, c.group_count, c.group_size, c.times) == ("all-reduce", "f32[64,48]", 2, 4, 1), c
assert c.bytes_sent == r.bytes_sent == 2 * 64 * 48 * 4 * 3 / 4
assert c.operation.endswith("dot_general") and c.source.startswith("<string>:"), c
assert r.num_devices == 8 and r.argument_bytes == (64 * 8 + 8 * 48) * 4 and r.result_bytes == 64 * 48 * 4, r
assert not r.fallbacks and "all-reduce" in str(r) and "18.0 KiB" in str(r), str(r)
assert told(lambda a: a + 1, arg((8, 8), "x")).collectives == []
""",
        SHOAL_NUM_DEVICES="8",
    )


# JAX traces jnp's functions once for all their callers.
def test_what_a_library_function_sends_is_of_the_line_that_calls_it():
    run(
        EIGHT
        + """
r = told(lambda a: jnp.linalg.eigvalsh(a @ a.T), arg((32, 32), "x"))
assert r.collectives and all(c.source.startswith("<string>:") for c in r.collectives), str(r)
""",
        SHOAL_NUM_DEVICES="8",
    )


def test_a_loop_counts_as_often_as_it_runs():
    run(
        EIGHT
        + """
step = lambda h, w: jnp.tanh(h @ w)
loop = lambda n: lambda h, w: jax.lax.fori_loop(0, n, lambda i, h: step(h, w), h)
args = arg((32, 64), None, "x"), arg((64, 64), "x")
(c,) = told(loop(7), *args, out=sh(None, "x")).collectives
assert c.times == 7 and c.kind == "reduce-scatter" and c.bytes_sent == 32 * 16 * 4 * 3, c
by_three = lambda h, w: jax.lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 3, step(s[1], w)), (0, h))[1]
(c,) = told(by_three, *args, out=sh(None, "x")).collectives
assert c.times == 4, c
(c,) = told(lambda h, w, n: jax.lax.fori_loop(0, n, lambda i, h: step(h, w), h), *args, jnp.int32(3), out=sh(None, "x")).collectives
assert c.times is None and c.total_bytes == c.bytes_sent, c
""",
        SHOAL_NUM_DEVICES="8",
    )


def test_what_is_gathered_whole_is_named():
    run(
        EIGHT
        + """
f = lambda a: jnp.fft.fft(a).real
r = told(f, arg((3, 64), None, "x"), out=sh(None, "x"))
(c,) = r.fallbacks
assert c.kind == "all-gather" and c.fallback == "fft along dimension 1 of c64[3,64]", c
assert "cannot work on parts: 1" in str(r), str(r)
""",
        SHOAL_NUM_DEVICES="8",
    )


def test_planning_for_more_devices_than_there_are():
    run(
        EIGHT
        + """
from jax.experimental import topologies
devices = topologies.get_topology_desc("any", "shoal", num_devices=1024).devices
mesh = Mesh(np.array(devices).reshape(256, 4), ("x", "y"))
r = told(lambda a, w: (a @ w).sum(0), arg((1024, 64), "x", "y"), arg((64, 128), "y"), out=sh())
assert r.num_devices == 1024 and r.argument_bytes == (4 * 16 + 16 * 128) * 4, r
assert [(c.kind, c.group_count, c.group_size) for c in r.collectives] == [("all-reduce", 256, 4), ("all-reduce", 4, 256)], r
assert r.bytes_sent == 2 * 4 * 128 * 4 * 3 / 4 + 2 * 128 * 4 * 255 / 256, r
""",
        SHOAL_NUM_DEVICES="8",
    )


def test_what_no_iteration_changes_is_gathered_before_the_loop():
    run(
        EIGHT
        + """
rng = np.random.default_rng(0)
h, w = rng.standard_normal((256, 64)).astype(np.float32), (rng.standard_normal((64, 64)) / 8).astype(np.float32)
f = lambda h, w: jax.lax.fori_loop(0, 5, lambda i, h: jnp.tanh(h @ w) + h.mean(), h)
compiled = jax.jit(f, out_shardings=sh("x")).lower(arg(h.shape, "x"), arg(w.shape, "x")).compile()
told = {c.kind: c.times for c in shoal.report(compiled).collectives}
assert told == {"all-gather": 1, "all-reduce": 5}, shoal.report(compiled)
want = h
for _ in range(5):
    want = np.tanh(want @ w) + want.mean()
got = compiled(jax.device_put(h, sh("x")), jax.device_put(w, sh("x")))
np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
""",
        SHOAL_NUM_DEVICES="8",
    )
