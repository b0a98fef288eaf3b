"""Maxima and minima of the 8-bit floats, those without infinities too: ml_dtypes and NumPy say what they are."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

TYPES = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]

random = np.random.default_rng(7)
split = NamedSharding(jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,)), P("x"))
for name in TYPES:
    dtype = np.dtype(getattr(ml_dtypes, name))
    for sign in (-1, 1):  # all of one sign: nothing hides the number that a reduction begins with
        x = (sign * random.uniform(0.25, 7, (3, 37))).astype(dtype)
        numbers = x.astype(np.float32)
        for reduce, expected in [(jnp.max, np.max), (jnp.min, np.min)]:
            for axis in (None, 0, 1):
                np.testing.assert_array_equal(jax.jit(reduce, static_argnums=1)(x, axis).astype(np.float32), expected(numbers, axis), name)
        # 37 columns over two devices: the last part is padded.
        largest = jax.jit(lambda a: jnp.max(jax.lax.with_sharding_constraint(jnp.transpose(a), split), 0))(x)
        np.testing.assert_array_equal(largest.astype(np.float32), numbers.max(1), name)

# Powers of two alone: halves are rounded up, and what is not positive is no number.
numbers = np.array([3, 6, 1.5, 1.49, 5, 0, -1, 1e-40, 2**-127, 2**-128, 2.0**127 * 1.4, 2.0**127 * 1.6, np.inf, np.nan], np.float32)
got = np.asarray(jax.jit(lambda v: v.astype(ml_dtypes.float8_e8m0fnu))(numbers))
np.testing.assert_array_equal(got.view(np.uint8), numbers.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))

# Two signs, neither infinity nor NaN: what is too large becomes the largest, NaN the zero that has a sign.
numbers = np.array([*np.linspace(-8, 8, 77), 0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
got = np.asarray(jax.jit(lambda v: v.astype(ml_dtypes.float4_e2m1fn))(numbers))
np.testing.assert_array_equal(got.view(np.uint8), numbers.astype(ml_dtypes.float4_e2m1fn).view(np.uint8))
