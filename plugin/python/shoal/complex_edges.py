"""Complex functions of infinite arguments and of what is no number, by Annex G of the C standard, as NumPy has them.

Each function takes the value that the usual formula gave and the argument z = x + iy, and mends the former. Where C
leaves a sign open it may differ from NumPy's.
"""

import math

import jax.numpy as jnp
from jax import lax


def _parts(z):
    return lax.real(z), lax.imag(z)


def _infinite(x):
    return lax.abs(x) == math.inf


def _like(x, number):
    return lax.full_like(x, number)


def _mended(value, *rows):
    """The value, or the (real, imaginary) parts of the last row whose condition holds; None: the value's own part."""
    re, im = _parts(value)
    for condition, new_re, new_im in rows:
        re = re if new_re is None else lax.select(condition, new_re, re)
        im = im if new_im is None else lax.select(condition, new_im, im)
    return lax.complex(re, im)


def exp(value, z):
    x, y = _parts(z)
    left = x < 0
    real = lax.select(left, _like(x, 0), x)
    imaginary = lax.select(left, jnp.copysign(_like(x, 0), y), _like(x, math.nan))
    return _mended(value, (_infinite(x) & ~lax.is_finite(y), real, imaginary))


def log(value, z):
    x, y = _parts(z)
    return _mended(value, (_infinite(x) | _infinite(y), _like(x, math.inf), None))


def sqrt(value, z):
    x, y = _parts(z)
    infinite, nan = _like(x, math.inf), _like(x, math.nan)
    left = x < 0
    return _mended(value, (_infinite(x) & (y != y), lax.select(left, nan, infinite), lax.select(left, infinite, nan)),
                   (_infinite(y), infinite, y))


def tanh(value, z):
    x, y = _parts(z)
    nan, odd = _like(x, math.nan), ~lax.is_finite(y)
    return _mended(value, (_infinite(x) & odd, jnp.copysign(_like(x, 1), x), jnp.copysign(_like(x, 0), y)),
                   ((x == 0) & odd, x, nan), ((x != x) & (y == 0), nan, y))


def atanh(value, z):
    x, y = _parts(z)
    zero, nan = jnp.copysign(_like(x, 0), x), _like(x, math.nan)
    above = (x != x) & _infinite(y)
    return _mended(value, ((x != x) | (y != y), nan, nan), ((y != y) & ((x == 0) | _infinite(x)), zero, None),
                   (above, zero, jnp.copysign(_like(x, math.pi / 2), y)))


def asinh(value, z):
    x, y = _parts(z)
    return _mended(value, ((x != x) & (y == 0), None, y))


def acos(value, z):
    x, y = _parts(z)
    return _mended(value, ((x == 0) & (y != y), _like(x, math.pi / 2), _like(x, math.nan)))


def acosh(value, z):
    x, y = _parts(z)
    return _mended(value, ((x == 0) & (y != y), _like(x, math.nan), _like(x, math.pi / 2)))


def _turned(function):
    """f(z) = -i g(iz), of g's mending."""

    def mend(value, z):
        return _over_i(function(_times_i(value), _times_i(z)))

    return mend


def _times_i(z):
    return lax.complex(-lax.imag(z), lax.real(z))


def _over_i(z):
    return lax.complex(lax.imag(z), -lax.real(z))


tan, atan, asin = _turned(tanh), _turned(atanh), _turned(asinh)
log1p = log
