"""Random shapes, element types and numbers of the random programs, each from a seeded source."""

import random

import jax.numpy as jnp
import numpy as np

FLOATS = ["float32", "float64", "bfloat16", "float16"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = SIGNED + UNSIGNED
# How often each type is drawn: most of what people run is float32.
TYPES = ["float32"] * 8 + ["int32"] * 4 + FLOATS * 2 + INTEGERS + COMPLEX + ["bool"] * 2
LENGTHS = [1, 2, 3, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33]
MOST_ELEMENTS = 4000  # of a value; one program in ten has larger ones


def kind(dtype):
    """float, complex, int, uint or bool."""
    dtype = jnp.dtype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        return "float"
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return "complex"
    if dtype == bool:
        return "bool"
    return "int" if jnp.issubdtype(dtype, jnp.signedinteger) else "uint"


class Source(random.Random):
    """Random choices; everything about a program follows from the seed."""

    def __init__(self, seed):
        super().__init__(seed)
        self.numbers = np.random.default_rng(seed)
        self.most = MOST_ELEMENTS * (20 if self.chance(0.1) else 1)
        self.special = self.chance(0.3)

    def chance(self, p):
        return self.random() < p

    def shape(self, rank=None):
        rank = self.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
        shape = []
        for _ in range(rank):
            room = self.most // max(1, int(np.prod(shape)))
            longest = 0 if self.chance(0.01) else max(1, min(room, 300 if self.chance(0.1) else 33))
            shape.append(0 if longest == 0 else min(longest, self.choice([*LENGTHS, self.randint(1, longest)])))
        return tuple(shape)

    def array(self, shape, dtype):
        """Numbers of ordinary size; in one program of three also infinities, NaN, zeros of both signs, extremes.

        No subnormal numbers: jaxlib rounds them to zero, and Shoal keeps them.
        """
        dtype, what = jnp.dtype(dtype), kind(dtype)
        if what == "bool":
            return self.numbers.integers(0, 2, shape).astype(bool)
        if what in ("int", "uint"):
            return self._integers(shape, dtype, what)
        spread = self.choice([0.5, 1.0, 1.0, 3.0, 30.0])
        value = self.numbers.standard_normal(shape) * spread
        if what == "complex":
            return (value + 1j * self.numbers.standard_normal(shape)).astype(dtype)
        if self.chance(0.2):  # ties, and numbers that every type holds
            value = np.round(value)
        value = np.asarray(value).astype(dtype)
        if self.special and self.chance(0.5):
            info = jnp.finfo(dtype)
            some = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, float(info.max), float(info.min),
                    float(info.tiny)]
            value = self._sprinkle(value, np.array(some).astype(dtype))
        return value

    def _integers(self, shape, dtype, what):
        info = np.iinfo(dtype)
        low, high = (0 if what == "uint" else -20), 21
        value = np.asarray(self.numbers.integers(low, high, shape)).astype(dtype)
        if self.special and self.chance(0.5):
            some = [info.min, info.max, info.max - 1, 0, 1, info.bits - 1, info.bits]
            value = self._sprinkle(value, np.array(some, dtype))
        elif self.chance(0.2):
            value = np.asarray(self.numbers.integers(info.min, info.max, shape, dtype, endpoint=True))
        return value

    def _sprinkle(self, value, some):
        there = self.numbers.random(value.shape) < 0.2
        return np.where(there, self.numbers.choice(some, value.shape), value).astype(value.dtype)
