"""What sharded programs send, counted by shoal.report; and that they give what one device of jaxlib's gives."""

import pytest

from plugin_test import installed, run  # noqa: F401: a fixture

CHECK = """
import shoal
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
cpu = jax.devices("cpu")[0]
r = np.random.default_rng(0)
f = lambda *s: r.standard_normal(s).astype(np.float32)
mesh = jax.make_mesh((2, 4), ("y", "x"), axis_types=(AxisType.Auto,) * 2)

def sent(function, args, specs, plain=None):
    '''The report; results are compared with jaxlib's, of `plain` if `function` names devices.'''
    placed = [jax.device_put(a, NamedSharding(mesh, spec)) for a, spec in zip(args, specs)]
    compiled = jax.jit(function).lower(*placed).compile()
    want = jax.jit(plain or function)(*(jax.device_put(a, cpu) for a in args))
    for got, one in zip(jax.tree.leaves(compiled(*placed)), jax.tree.leaves(want)):
        np.testing.assert_allclose(got, one, 1e-4, 1e-4)
    report = shoal.report(compiled)
    print(report)
    assert not report.fallbacks and all(c.source.startswith("<string>:") for c in report.collectives), report
    return report
"""

# A program, and the most bytes that one device may send for it.
PROGRAMS = {
    # A part is sent to its buckets, which may be twice as long, and back: a gather sends 3 parts.
    "rows_sorted_along_a_split_dimension": """
report = sent(lambda x: jnp.sort(x, 1), [f(2, 65536)], [P("y", "x")])
assert report.bytes_sent < 3 * 65536, report
assert max(c.bytes_sent for c in report.collectives if "ragged" not in c.kind) < 512, report
""",
    # Of two operands a gather sends one, for positions are free.
    "rows_argsorted_along_a_dimension_that_all_share": """
x = np.round(f(1, 65536) * 4)
report = sent(lambda x: (jnp.argsort(x, 1, stable=True), -jnp.sort(-x, 1)), [x], [P(None, ("x", "y"))])
assert all("65536]" not in c.shape for c in report.collectives), report
""",
    "a_vector_that_does_not_divide_is_sorted": """
x = r.permutation(np.concatenate([np.round(f(65436) * 9), [np.nan] * 70, [np.inf] * 30])).astype(np.float32)
orders = lambda x: (jnp.sort(x)[7:], jnp.argsort(x, stable=True)[7:])  # results of a length that divides
all_devices = P(("y", "x"))
placed = lambda x: orders(lax.with_sharding_constraint(x[1:], NamedSharding(mesh, all_devices)))
report = sent(placed, [x], [all_devices], lambda x: orders(x[1:]))
assert any("ragged" in c.kind for c in report.collectives), report
assert all("[6553" not in c.shape for c in report.collectives), report
""",
    # Some rows from both neighbours, however many there are: 129 rows with the padding do not divide.
    "gradient_of_overlapping_pooling": """
pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
report = sent(jax.grad(lambda x: (jnp.sin(pool(x)) * 3).sum()), [f(2, 128, 32, 4)], [P("y", "x")])
assert report.bytes_sent < 24 * 33 * 4 * 4, report
""",
    # Between the rows of the gradient stand others; a row of it comes from the neighbour, and one of the images.
    "gradients_of_a_strided_convolution": """
def loss(x, k):
    return jnp.sin(lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))).sum()
report = sent(jax.grad(loss, (0, 1)), [f(2, 32, 32, 4), f(3, 3, 4, 8)], [P("y", "x"), P()])
kernel = 2 * 3 * 3 * 4 * 8 * 4 * 7 / 8
row = 32 * 4 * 4
assert report.bytes_sent <= kernel + 3 * row, report
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_more_is_sent_than_needed(name):
    run(CHECK + PROGRAMS[name], SHOAL_NUM_DEVICES="8", JAX_PLATFORMS="shoal,cpu")
