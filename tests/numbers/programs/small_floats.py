"""Functions of floats of 4 and 8 bits: computed from the exact value of the argument and rounded once."""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float4_e2m1fn):
    x = np.array([-3, -1, -0.5, 0, 0.25, 1, 2], np.float32).astype(dtype)
    for f, g in ((jax.lax.erf, math.erf), (jax.lax.erfc, math.erfc), (jnp.exp, math.exp), (jnp.tanh, math.tanh)):
        want = np.array([g(float(v)) for v in x], np.float64).astype(np.float32).astype(dtype)
        got = np.asarray(jax.jit(f)(x))
        assert got.dtype == dtype, got.dtype
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32), f"{f.__name__} of {np.dtype(dtype)}")
