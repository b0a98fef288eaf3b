"""Reductions where the order of combination, NaN and rounding show. The oracle is NumPy, in f64."""

import jax
import jax.numpy as jnp
import numpy as np

NAN = np.nan
SIZES = [5, 61, 77, 1021, 40009]
TYPES = [np.float32, np.float64, np.float16, jnp.bfloat16]


def nan_rows(n):
    rng = np.random.default_rng(n)
    ties = rng.integers(0, 3, n).astype(np.float64)
    late = ties.copy()
    late[-(n // 3) :] = NAN
    scattered = ties.copy()
    scattered[rng.integers(0, n, n // 4)] = NAN
    return [ties, late, scattered, np.full(n, NAN), np.full(n, -np.inf), np.full(n, np.inf)]


def check_zeros_have_an_order():
    """maximum and minimum of IEEE 754: -0 is less than +0, in whatever order they come."""
    for dtype in TYPES:
        x, y = (np.resize(v, 77).astype(dtype) for v in ([-0.0, 0.0, -0.0, 0.0, 2.0], [0.0, -0.0, -0.0, 0.0, -2.0]))
        for function, folded, negative in ((jnp.maximum, jnp.max, np.signbit(x) & np.signbit(y)),
                                           (jnp.minimum, jnp.min, np.signbit(x) | np.signbit(y))):
            np.testing.assert_array_equal(np.signbit(np.asarray(jax.jit(function)(x, y))), negative)
            for size in SIZES:
                zeros = np.full(size, -0.0 if folded is jnp.max else 0.0).astype(dtype)
                other = -zeros[:1]
                assert np.signbit(np.asarray(jax.jit(folded)(zeros))) == np.signbit(zeros[0])
                for place in (0, size // 2, size - 1):
                    mixed = np.insert(zeros, place, other)
                    assert np.signbit(np.asarray(jax.jit(folded)(mixed))) == np.signbit(other[0]), (dtype, size, place)


def check_argmax_takes_the_first_of_ties_and_of_nans():
    for n in SIZES:
        for row in nan_rows(n):
            for dtype in TYPES:
                x = row.astype(dtype)
                assert int(jax.jit(jnp.argmax)(x)) == int(np.argmax(row)), (n, dtype, "argmax")
                assert int(jax.jit(jnp.argmin)(x)) == int(np.argmin(row)), (n, dtype, "argmin")
        m = np.stack(nan_rows(n), axis=1).astype(np.float32)  # along the major dimension: lanes over the others
        np.testing.assert_array_equal(jax.jit(lambda t: jnp.argmax(t, axis=0))(m), np.argmax(m, axis=0))


def check_variance_of_equal_numbers_is_zero():
    # The sum itself is rounded to f32: beside powers of two the mean may be the neighbour of the number.
    neighbour = 4096.0**2
    for n, limit in ((4096, 0), (3, neighbour), (4095, neighbour), (100003, neighbour)):
        for shape, axis in (((n,), None), ((n, 5), 0), ((3, n), 1)):
            v = jax.jit(lambda t: t.var(axis=axis))(np.full(shape, 6.1e10, np.float32))
            assert np.max(v) <= limit, (shape, np.max(v))


def check_long_sums():
    n = 100_000_000
    total = float(jax.jit(lambda: jnp.full(n, 0.1, jnp.float32).sum())())
    exact = n * float(np.float32(0.1))
    assert abs(total - exact) <= 1e-6 * exact, total
    x = np.random.default_rng(0).standard_normal((40009, 7)).astype(np.float32)
    np.testing.assert_allclose(jax.jit(lambda t: t.sum(0))(x), x.sum(0, dtype=np.float64), rtol=1e-6, atol=1e-5)
    x = np.random.default_rng(1).random((4, 2_000_000), np.float32)
    windows = jax.jit(lambda t: jax.lax.reduce_window(t, 0.0, jax.lax.add, (2, 1_000_000), (2, 1_000_000), "VALID"))(x)
    exact = x.reshape(2, 2, 2, 1_000_000).sum((1, 3), dtype=np.float64)
    np.testing.assert_allclose(windows, exact, rtol=1e-6)
    # Windows that overlap, in f32 and in a type that could not count them.
    row = x[0, :1_000_000]
    exact = np.array([row[k : k + 200_000].sum(dtype=np.float64) for k in range(0, 800_001, 100_000)])
    for dtype, tolerance in ((np.float32, 1e-6), (jnp.bfloat16, 1e-2)):
        window = jax.jit(lambda t: jax.lax.reduce_window(t, dtype(0), jax.lax.add, (200_000,), (100_000,), "VALID"))
        np.testing.assert_allclose(np.asarray(window(row.astype(dtype)), np.float64), exact, rtol=tolerance)


def check_running_sums_and_sums_by_segment():
    x = np.random.default_rng(2).random(4_000_037, np.float32)
    wide = x.astype(np.float64)
    for got, want in (
        (jax.jit(jnp.cumsum)(x), wide.cumsum()),
        (jax.jit(lambda t: jax.lax.cumsum(t, reverse=True))(x), wide[::-1].cumsum()[::-1]),
        (jax.jit(lambda t: jnp.cumsum(t[:4_000_035].reshape(-1, 5), 0))(x), wide[:4_000_035].reshape(-1, 5).cumsum(0)),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    segment = np.random.default_rng(3).integers(0, 3, x.size).astype(np.int32)
    want = np.bincount(segment, wide)
    for dtype, tolerance in ((np.float32, 2e-7), (jnp.bfloat16, 1e-2)):
        sums = jax.jit(lambda t, s: jnp.full(3, 7, dtype).at[s].add(t.astype(dtype)))(x, segment)
        np.testing.assert_allclose(np.asarray(sums, np.float64), want + 7, rtol=tolerance)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
