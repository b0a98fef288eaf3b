"""Subnormal numbers are kept, also by arrays that several threads compute. The oracle is NumPy."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
for dtype, smallest in ((np.float32, 1e-45), (np.float64, 5e-324)):
    for count in (7, 1_000_001):
        x = np.full(count, smallest, dtype)
        np.testing.assert_array_equal(jax.jit(lambda x: x * 3 + x)(x), x * 3 + x)
        np.testing.assert_array_equal(jax.jit(jnp.sum)(x), x.sum())
        np.testing.assert_array_equal(jax.jit(jnp.cumsum)(x)[-1], np.cumsum(x)[-1])
        np.testing.assert_allclose(jax.jit(jnp.cbrt)(x), np.cbrt(x), rtol=1e-6)
