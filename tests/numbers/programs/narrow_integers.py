"""int4, uint4 and int2 arrays from the host, whose bytes say nothing in their upper bits. The oracle is NumPy."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

ALL = {ml_dtypes.int4: np.arange(-8, 8), ml_dtypes.uint4: np.arange(16), ml_dtypes.int2: np.arange(-2, 2)}


def check_conversions():
    for dtype, values in ALL.items():
        x = values.astype(dtype)
        for wide in (np.int8, np.int32, np.float32, jnp.bfloat16):
            np.testing.assert_array_equal(jax.jit(lambda t: t.astype(wide))(x), values.astype(wide))
        np.testing.assert_array_equal(np.asarray(jax.jit(jnp.sort)(x[::-1])).astype(int), values)
        np.testing.assert_array_equal(np.asarray(jax.jit(jnp.max)(x)).astype(int), values.max())


def check_arithmetic_wraps():
    x = ALL[ml_dtypes.int4].astype(ml_dtypes.int4)
    got = np.asarray(jax.jit(lambda t: t * t + t)(x)).astype(np.int8)
    v = ALL[ml_dtypes.int4]
    np.testing.assert_array_equal(got, (v * v + v + 8) % 16 - 8)


def check_bitcasts_pack_nibbles_low_first():
    rng = np.random.default_rng(0)
    for wide in (np.int8, np.uint8, np.int16, np.float16, np.int32, np.float32):
        words = rng.integers(0, 256, 15 * np.dtype(wide).itemsize, np.uint8).view(wide).reshape(3, 5)
        octets = words.view(np.uint8).reshape(3, 5, -1)
        nibbles = np.stack([octets & 15, octets >> 4], axis=-1).reshape(3, 5, -1)
        for dtype in (ml_dtypes.uint4, ml_dtypes.int4):
            parts = jax.jit(lambda t: jax.lax.bitcast_convert_type(t, dtype))(words)
            np.testing.assert_array_equal(np.asarray(parts).astype(np.int8) & 15, nibbles)
            back = jax.jit(lambda t: jax.lax.bitcast_convert_type(t, wide))(nibbles.astype(dtype))
            np.testing.assert_array_equal(np.asarray(back).view(np.uint8), words.view(np.uint8))


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
