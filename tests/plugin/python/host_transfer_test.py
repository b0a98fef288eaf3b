"""Send and recv with the host by jaxlib's side of them: JAX's callbacks, made to go as they go for TPUs. NumPy is the oracle."""

from plugin_test import installed, run  # noqa: F401: a fixture

# JAX has this way of making a callback for TPUs; what jaxlib does in it is the same for any plugin.
AS_FOR_TPUS = """
from jax._src import callback as jax_callback, dtypes
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def emit(ctx, callback, token, operands, operand_avals, result_avals, *, returns_token=True, sharding=None, **_):
    shapes = lambda avals: [jax_callback._aval_to_xla_shape(a) for a in avals]
    outputs, token = jax_callback._emit_tpu_python_callback(
        ctx.module_context.get_backend(), ctx,
        lambda *args: tuple(dtypes.canonicalize_value(np.asarray(x)) for x in callback(*args)), token,
        operands, operand_avals, shapes(operand_avals), result_avals, shapes(result_avals),
        returns_token=returns_token, sharding=sharding)
    return outputs, token, None

jax_callback.emit_python_callback = emit
like = lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype)
"""


def test_callbacks_in_loops_and_branches_keep_their_order():
    run(
        AS_FOR_TPUS
        + """
seen = []
def ordered(x):
    seen.append(int(x))
    return np.float32(x) * 2

def step(carry, i):
    y = jax.experimental.io_callback(ordered, jax.ShapeDtypeStruct((), jnp.float32), i, ordered=True)
    y = jax.lax.cond(i % 2 == 0, lambda y: y, lambda y: jax.pure_callback(lambda v: np.asarray(v) + 1, like(y), y), y)
    return carry + y, y

import jax.experimental
program = jax.jit(lambda c: jax.lax.scan(step, c, jnp.arange(7)))
total, each = program(jnp.float32(3))
want = np.array([2 * i + i % 2 for i in range(7)], np.float32)
np.testing.assert_array_equal(each, want)
assert total == 3 + want.sum() and seen == list(range(7)), seen
assert "stablehlo.send" in program.lower(jnp.float32(3)).as_text()  # it did go by channels
"""
    )


def test_a_sharded_program_asks_one_device_or_each_for_its_part():
    run(
        AS_FOR_TPUS
        + """
mesh = Mesh(jax.devices(), ("x",))
x = jax.device_put(np.arange(60, dtype=np.float32).reshape(12, 5), NamedSharding(mesh, P("x")))
shapes = []
def double(a):
    shapes.append(a.shape)
    return np.asarray(a) * 2

whole = jax.jit(lambda x: jax.pure_callback(double, like(x), x + 1) - 1)(x)
np.testing.assert_array_equal(whole, (np.asarray(x) + 1) * 2 - 1)
assert shapes == [(12, 5)], shapes
shapes.clear()
parts = jax.jit(jax.shard_map(lambda x: jax.pure_callback(double, like(x), x), mesh=mesh, in_specs=P("x"), out_specs=P("x")))
np.testing.assert_array_equal(parts(x), np.asarray(x) * 2)
assert shapes == [(3, 5)] * 4, shapes
""",
        SHOAL_NUM_DEVICES="4",
    )


def test_an_exception_of_a_callback_is_the_runs_error():
    run(
        AS_FOR_TPUS
        + """
def broken(x):
    raise ValueError("the host has no such file")

try:
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(broken, like(x), x))(jnp.ones(3)))
except jax.errors.JaxRuntimeError as error:
    assert "no such file" in str(error) and "send of f32[3]" in str(error), error
else:
    raise AssertionError("no error")
np.testing.assert_array_equal(jax.jit(lambda x: jax.pure_callback(lambda a: a + 1, like(x), x))(jnp.ones(3)), np.full(3, 2))
"""
    )
