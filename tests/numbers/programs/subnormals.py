"""Subnormal numbers are kept as NumPy keeps them, whichever thread computes or folds them: small arrays on the caller's
thread, large ones on the workers, constants on jaxlib's compiling threads (which flush them)."""

import jax
import jax.numpy as jnp
import numpy as np

values = np.array([1e-45, -1e-45, 3e-40, -7e-39, 1.1e-38, np.nan, np.inf, -np.inf, 0.5, 2.0, -3.0], np.float32)
with np.errstate(all="ignore"):
    for n in (11, 1001):
        x = np.resize(values, n)
        np.testing.assert_array_equal(jax.jit(lambda v: v * np.float32(1.5))(x), x * np.float32(1.5))
        np.testing.assert_array_equal(jax.jit(lambda v: v == 0)(x), x == 0)
        power = jax.jit(jnp.power)(x[:, None], x[None, :])
        np.testing.assert_allclose(power, np.power(x[:, None], x[None, :]), rtol=1e-6)
    folded = jax.jit(lambda: jnp.asarray(values) * np.float32(1.5))()
    np.testing.assert_array_equal(folded, values * np.float32(1.5))
