"""shoal.report: bytes, groups, source lines and loops of programs whose traffic can be counted by hand."""

import collections
import json
import math
import re

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
assert len(topologies.get_topology_desc("any", "shoal").devices) == 8  # as a client has
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


def test_what_it_says_is_what_runs(tmp_path):
    """Collectives and the bytes that they read and write, by kind: as the report counts them, and as the timeline does at run time."""
    path = tmp_path / "timeline.json"
    out, _ = run(
        EIGHT
        + """
import json
from jax import lax
r = np.random.default_rng(0)
f = lambda *s: r.standard_normal(s).astype(np.float32)
put = lambda a, *p: jax.device_put(a, sh(*p))
line = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))

def train(w, xs):  # with its weights in parts everywhere
    loss = lambda w, x: (jnp.tanh(x @ w["a"]) @ w["b"] - 1).var()
    def step(w, x):
        value, gradients = jax.value_and_grad(loss)(w, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, gradients), value
    return lax.scan(step, w, xs)

def nested(x, w):
    return lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, 4, lambda j, x: jnp.tanh(x @ w), x) + x.mean(), x)

def ragged(x):
    def local(x):
        twos, begins = jnp.full((4,), 2, jnp.int32), jnp.arange(4, dtype=jnp.int32) * 2
        return lax.ragged_all_to_all(x, jnp.zeros_like(x), begins, twos, twos * lax.axis_index("x"), twos, axis_name="x")
    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)(x)

def two_meshes(x):
    x = jax.shard_map(lambda a: a + lax.psum(a, "y"), mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))(x)
    turned = [(i, (i + 3) % 8) for i in range(8)]
    return jax.shard_map(lambda a: lax.all_gather(lax.ppermute(a, "d", turned), "d"), mesh=line, in_specs=P("d"), out_specs=P(), check_vma=False)(x)

programs = [
    (train, {"a": put(f(64, 128), ("x", "y")), "b": put(f(128, 64), ("x", "y"))}, put(f(5, 32, 64), None, ("x", "y"))),
    (nested, put(f(32, 64), None, "x"), put(f(64, 64), "x")),
    (lambda t, i: jnp.fft.fft(t, axis=0).real + t[i], put(f(64, 3), "x"), put(r.integers(0, 64, 64).astype(np.int32))),
    (ragged, put(f(32, 16), "x")),
    (two_meshes, put(f(64, 64), "x", "y")),
]
fallbacks = []
for function, *args in programs:
    compiled = jax.jit(function).lower(*args).compile()
    report = shoal.report(compiled)
    jax.block_until_ready(compiled(*args))
    for c in report.collectives:
        assert c.times and c.source.startswith("<string>:"), str(report)
        print("TOLD", json.dumps([c.kind, c.shape, c.group_size, c.times]))
    fallbacks += [c.fallback for c in report.fallbacks]
assert any(f.startswith("fft along dimension 1 of c64[3,64]") for f in fallbacks), fallbacks
""",
        SHOAL_NUM_DEVICES="8",
        SHOAL_TIMELINE=str(path),
    )
    told, ran = collections.Counter(), collections.Counter()
    for kind, shape, size, times in map(json.loads, re.findall(r"^TOLD (.*)", out, re.M)):
        result = sum(math.prod(map(int, dims.split(","))) * int(re.sub(r"\D", "", element)) // 8
                     for element, dims in re.findall(r"(\w+)\[([\d,]+)\]", shape.replace("[]", "[1]")))
        # A ragged one also reads the array that it writes into, and four numbers a member.
        ragged = 2 * result + 4 * 8 * size
        read = {"all-gather": result // size, "reduce-scatter": result * size, "ragged-all-to-all": ragged}.get(kind, result)
        kind = kind.removeprefix("ragged-")  # the timeline has it by its instruction's name
        told[kind, "times"] += times
        told[kind, "bytes"] += times * (result + read)
    for event in json.loads(path.read_text())["traceEvents"]:
        if event.get("cat") == "collectives":
            kind = re.match(r"[a-z]+-[a-z-]*[a-z]", event["name"])[0]
            ran[kind, "times"] += 1
            ran[kind, "bytes"] += event["args"]["bytes"]
    assert {key: n * 8 for key, n in told.items()} == ran
    assert {kind for kind, _ in ran} >= {"all-reduce", "all-gather", "reduce-scatter", "collective-permute", "all-to-all"}


def test_dump_shows_the_program_after_each_step(tmp_path):
    """Of the propagation the shardings, of the partitioner the collectives, both by the names that the user knows."""
    run(
        EIGHT
        + """
def layer(a, b):
    return jnp.tanh(a @ b)
jax.jit(layer).lower(arg((64, 32), None, "x"), arg((32, 48), "x")).compile()
""",
        SHOAL_NUM_DEVICES="8",
        SHOAL_DUMP=str(tmp_path),
    )
    (folder,) = (f for f in tmp_path.iterdir() if "layer" in f.name)
    files = {re.sub(r"^\d+_|\.\w+$", "", f.name): f.read_text() for f in sorted(folder.iterdir())}
    assert list(files)[0] == "import" and {"propagate", "partition", "fuse", "schedule"} <= set(files), list(files)
    (line,) = re.findall(r".*= f32\[64,48\].* dot\(.*", files["propagate"])
    assert "sharding={" in line and "jit(layer)/dot_general" in line, line
    assert "all-reduce(" not in files["propagate"]
    (line,) = re.findall(r".* all-reduce\(.*", files["partition"])
    assert "jit(layer)/dot_general" in line and "f32[64,48]" in line, line
