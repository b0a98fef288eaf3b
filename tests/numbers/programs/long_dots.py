"""Dots and convolutions that contract millions of products do not lose them: NumPy in f64 says what they are."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

random = np.random.default_rng(5)
for dtype, result in [(np.float32, np.float32), (ml_dtypes.bfloat16, ml_dtypes.bfloat16)]:
    for m, k, n in [(8, 1_000_003, 8), (2, 3_000_017, 2), (1, 2_000_003, 5)]:
        a, b = random.random((m, k)).astype(dtype), random.random((k, n)).astype(dtype)
        want = a.astype(np.float64) @ b.astype(np.float64)
        got = jax.jit(lambda a, b: jnp.dot(a, b, preferred_element_type=result))(a, b)
        np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=1e-6 if result == np.float32 else 4e-3)

# Few rows beside each other.
x = random.random((1_234_567, 5), np.float32)
np.testing.assert_allclose(jax.jit(lambda x: x.T @ x)(x), x.T.astype(np.float64) @ x, rtol=1e-6)

# A weight's gradient contracts batch and positions.
x, y = (random.random((4, 500, 501, c), np.float32) for c in (3, 8))
slope = jax.jit(
    jax.grad(
        lambda w: jnp.sum(
            y * jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        )
    )
)(np.zeros((1, 1, 3, 8), np.float32))
want = np.tensordot(x, y.astype(np.float64), [(0, 1, 2), (0, 1, 2)])
np.testing.assert_allclose(slope[0, 0], want, rtol=1e-5)
