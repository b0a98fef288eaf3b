"""Special functions of f32 and smaller floats in double precision, to take the place of JAX's lowering rules.

What jaxlib writes of them in StableHLO, on its way to any plugin, is computed in f32: near their zeros, and for negative
numbers, lgamma and digamma then keep no digit. These are right to 2 ulp everywhere (tests/numbers/ulp.py), for about the
same number of operations. Each function takes and returns f64, and knows that its argument was an f32. The tuples of
coefficients are Chebyshev fits, lowest power first, good to 2^-31 at least on the interval above them; those of lgamma
and digamma to 2^-47, since they cancel near the zeros between negative whole numbers.
"""

import math

import numpy as np
from jax import lax

# lgamma(y) / ((y - 1) (y - 2)) by y - 1.5 in [-0.5, 0.5]
_LGAMMA_ONE_TWO = (0.4831289505409809, -0.14595989591430594, 0.06291140107456485, -0.03130848750105327,
    0.01679709863121395, -0.009425622444829649, 0.005446457842219553, -0.0032120742206072908, 0.0019229162321227923,
    -0.001164411377219605, 0.0007115202752051298, -0.00043803516132580534, 0.00027130273545114005,
    -0.0001685717945035172, 0.00010541715222185904, -6.793733027397047e-05, 4.281642862794779e-05,
    -2.148770252062576e-05, 1.3584275459130943e-05, -1.8527803997032962e-05, 1.1820969445467145e-05)
# what Stirling's formula lacks, times z, by 1 / z^2 in [0, 1/9]
_STIRLING = (0.0833333333333331, -0.0027777777774133715, 0.0007936506858496185, -0.0005952253389772346,
    0.0008409629833701917, -0.001888555143539566, 0.005723844381518589, -0.018413210820548358, 0.046418397525377485,
    -0.06052133226994326)
# digamma(y) / (y - its zero) by y - 1.5 in [-0.5, 0.5]
_DIGAMMA_ONE_TWO = (0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884,
    0.09498872445494122, -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512,
    -0.011908218001568644, 0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769,
    0.0015566317474486838, -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789,
    0.0002272331660987376, -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394)
# (log z - 1 / 2z - digamma(z)) z^2 by 1 / z^2 in [0, 1/9]
_DIGAMMA_TAIL = (0.08333333333333277, -0.008333333332272298, 0.003968253589529314, -0.00416661216010324,
    0.007571622869454183, -0.02090360696172205, 0.0776647256777621, -0.3249613335669202, 1.219328137325485,
    -3.2119211971312565, 4.140216803601322)
# erfc(x) exp(x^2) x by 1 / x in [1/10.3, 1]
_ERFC_FAR = (0.5641881563445812, 7.029783676772634e-05, -0.28362581580345314, 0.019532298950811895,
    0.2603964655684229, 0.9313158020912943, -4.7769066934527835, 10.156730314707158, -13.612381964819724,
    12.501231257785067, -7.906491187897121, 3.2942464600768813, -0.802644633912725, 0.07863266372571326,
    0.003290154983181842)
# by x/4 - 1 in [-1, 1]
_I0E_NEAR = (0.2070019212239867, -0.11300432654348828, 0.09451562842516041, -0.08904346645630873,
    0.08734342458197082, -0.08496284076533661, 0.07927504492355045, -0.06954651412975588, 0.056778814790985566,
    -0.04295725075501792, 0.030168286136064423, -0.019775351506074058, 0.01199119818260163, -0.006605936634764051,
    0.0035544414024135983, -0.0020461388965098723, 0.0009352321298116495, -0.00020636329707506994,
    0.00010271931878805943, -0.00013592006898095621, 4.9179807024730725e-05)
# times sqrt(x), by 1 / x in [0, 1/8]
_I0E_FAR = (0.39894228039074453, 0.0498677976601706, 0.02804814052726157, 0.02939942784041082, 0.038703813107038396,
    0.1907002071781292, -0.5178536288169332, 1.6923129691382084, 13.656280663287214)
# divided by x, by x/4 - 1 in [-1, 1]
_I1E_NEAR = (0.044687709875608835, -0.06112433799007499, 0.06805759989689755, -0.0684826091053086,
    0.06376740463728496, -0.055279976798581335, 0.044674552725048805, -0.03367197055283874, 0.023686213041875678,
    -0.0155679877622009, 0.009582902619497388, -0.00554530937067591, 0.0030091916424835638, -0.0015172283196528769,
    0.0007375935634886747, -0.0003684467431909782, 0.00015715397534503563, -4.077280388096948e-05,
    1.7599730578225902e-05, -1.745472071400764e-05, 5.984122024648426e-06)
# times sqrt(x), by 1 / x in [0, 1/8]
_I1E_FAR = (0.3989422804117425, -0.1496033673030968, -0.0467486611080126, -0.04107819920067218,
    -0.051895573848905294, -0.20044133073675593, 0.32540310209936324, -0.6141479485797292, -18.051067173519133)
# erf_inv(x) / x by w = -log(1 - x^2) in [0, 5]
_ERF_INV_NEAR = (0.8862269253981395, 0.23201367024532027, 0.01154929943895624, -0.0023349057959268084,
    -0.00012851973714200828, 4.7313270918541174e-05, 1.3458075842138022e-06, -5.728545731095753e-07,
    -2.3506233791399174e-07, 8.35065368612225e-08, -1.1297065004962772e-08, 7.591358438682725e-10,
    -2.1203565137504115e-11)
# the same by sqrt(w) in [sqrt(5), 4.1]
_ERF_INV_FAR = (4.844010010363561, -18.401385496720476, 38.422178085759086, -46.78717555764307, 37.68091475517264,
    -20.99398549322929, 8.311215613407665, -2.364428004072601, 0.48151446110313384, -0.06867505034527993,
    0.006527942114818094, -0.0003720850665759558, 9.63312762927749e-06)
# erf(x) / x by x^2 in [0, 1]
_ERF_NEAR = (1.128379167063168, -0.37612638483859606, 0.11283782747632934, -0.026865445837429117, 0.005221074909260004,
    -0.0008484711773131887, 0.00011270546129762361, -9.68013934629482e-06)

_FIRST_ZERO, _FIRST_ZERO_LOW = 1.4616321449683622, 9.549995429965697e-17  # of digamma, in two parts


def _polynomial(x, coefficients):
    total = lax.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _by_thirds(z, below_one, below_two, below_three):
    return lax.select(z < 1, below_one, lax.select(z < 2, below_two, below_three))


def _is_infinite(x):
    return lax.abs(x) == math.inf


def erfc(x):
    a = lax.abs(x)
    near = 1 - x * _polynomial(x * x, _ERF_NEAR)
    bounded = lax.clamp(lax.full_like(a, 1.0), a, lax.full_like(a, 30.0))  # exp(-900) is 0 in any float of 32 bits
    t = 1 / bounded
    far = lax.exp(-bounded * bounded) * t * _polynomial(t, _ERFC_FAR)
    return lax.select(a < 1, near, lax.select(x < 0, 2 - far, far))


def erf_inv(x):
    w = -lax.log((1 - x) * (1 + x))
    value = x * lax.select(w < 5, _polynomial(w, _ERF_INV_NEAR), _polynomial(lax.sqrt(w), _ERF_INV_FAR))
    return lax.select(lax.abs(x) == 1, x * math.inf, value)


def _to_one_two(z):
    """y - 1 for a y in [1, 2) that is a whole number from z, which is in (0, 3)."""
    return _by_thirds(z, z, z - 1, z - 2)


def _lgamma_positive(z):
    low = _to_one_two(z)
    log = lax.log(lax.select(z < 3, _by_thirds(z, z, lax.full_like(z, 1.0), z - 1), z))
    near = low * (low - 1) * _polynomial(low - 0.5, _LGAMMA_ONE_TWO) + lax.select(z < 1, -log, log)
    far = (z - 0.5) * log - z + 0.5 * math.log(2 * math.pi) + _polynomial(1 / (z * z), _STIRLING) / z
    return lax.select(_is_infinite(z), z, lax.select(z < 3, near, far))


def lgamma(x):
    z = lax.abs(x)
    positive = _lgamma_positive(z)
    # gamma(-z) gamma(z) = -pi / (z sin(pi z))
    sine = lax.abs(lax.sin(math.pi * (z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN))))
    negative = lax.log(math.pi / (sine * z)) - positive
    return lax.select((x < 0) & ~_is_infinite(x), negative, positive)


def digamma(x):
    z = lax.abs(x)
    low = _to_one_two(z)
    shift = 1 / lax.select(z < 1, -z, lax.select(z < 2, lax.full_like(z, math.inf), z - 1))
    near = (low + (1 - _FIRST_ZERO) - _FIRST_ZERO_LOW) * _polynomial(low - 0.5, _DIGAMMA_ONE_TWO) + shift
    inverse = 1 / z
    far = lax.log(z) - 0.5 * inverse - _polynomial(inverse * inverse, _DIGAMMA_TAIL) * inverse * inverse
    positive = lax.select(z < 3, near, far)
    # digamma(-z) = digamma(z) + 1/z + pi cot(pi z)
    turn = z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN)
    negative = lax.select(turn == 0, lax.full_like(z, math.nan), positive + inverse + math.pi / lax.tan(math.pi * turn))
    return lax.select(x > 0, positive, lax.select(x == 0, -1 / x, negative))


def bessel_i0e(x):
    a = lax.abs(x)
    return lax.select(a < 8, _polynomial(a * 0.25 - 1, _I0E_NEAR), _polynomial(1 / a, _I0E_FAR) * lax.rsqrt(a))


def bessel_i1e(x):
    a = lax.abs(x)
    far = _polynomial(1 / a, _I1E_FAR) * lax.rsqrt(a)
    return lax.select(a < 8, x * _polynomial(a * 0.25 - 1, _I1E_NEAR), lax.select(x < 0, -far, far))


def exp2(x):
    """Also for arguments that are f64 from the beginning."""
    x = lax.clamp(lax.full_like(x, -1100.0), x, lax.full_like(x, 1100.0))  # NaN stays
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    exponent = lax.convert_element_type(whole, np.int64)
    half = exponent >> 1  # 2^1100 and 2^-1074 are no normal numbers

    def power(n):
        return lax.bitcast_convert_type((n + 1023) << 52, np.float64)

    return lax.exp((x - whole) * math.log(2)) * power(half) * power(exponent - half)


# Of complex numbers, with the parts of an array that is c128.


def logistic(z):
    """No exponential overflows."""
    left = lax.real(z) < 0
    e = lax.exp(lax.select(left, z, -z))
    return lax.select(left, e, lax.full_like(z, 1)) / (1 + e)


def sinh(z):
    return _hyperbolic(z, lax.sinh, lax.cosh)


def cosh(z):
    return _hyperbolic(z, lax.cosh, lax.sinh)


def _hyperbolic(z, real, other):
    """f(x) cos y + i g(x) sin y: (sinh, cosh) and (cosh, sinh). Where exp(x) is infinite its root is not."""
    x, y = lax.real(z), lax.imag(z)
    cos, sin = lax.cos(y), lax.sin(y)
    root = lax.exp(0.5 * lax.abs(x))
    big = lax.abs(x) > 700

    def times(f, factor):
        large = 0.5 * root * factor * root
        if f is lax.sinh:
            large = lax.select(x < 0, -large, large)
        # sinh(0) times what is no number is 0, and so is infinity times sin(0).
        product = lax.select(big & ~_is_infinite(x), large, f(x) * factor)
        return lax.select((x == 0) & (factor != factor), x, product) if f is lax.sinh else product

    on_axis = y if other is lax.cosh else lax.select(x < 0, -y, y)
    return lax.complex(times(real, cos), lax.select(y == 0, on_axis, times(other, sin)))
