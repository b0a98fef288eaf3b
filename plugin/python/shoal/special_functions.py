"""Special functions in double precision, to take the place of JAX's lowering rules.

What jaxlib writes of them in StableHLO, on its way to any plugin, is computed in f32 for f32: near their zeros, and for
negative numbers, lgamma and digamma then keep no digit. These are right to 2 ulp of f32 everywhere
(tests/numbers/ulp.py), for about the same number of operations, and those that lowerings.py uses for f64 too have fewer
ulp there than jaxlib's. Each function takes and returns f64, but where it says so.

The tuples of coefficients are Chebyshev fits, lowest power first, good to 2^-31 at least on the interval above them;
those of lgamma and digamma to 2^-47, since they cancel near the zeros between negative whole numbers.
"""

import math

import jax.numpy as jnp
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
# erfc(x) exp(x^2) / t by (t - 0.58) / 0.42 in [-1, 1], where t = 2 / (2 + x)
_ERFC = (0.5694087224338755, 0.32718793137529273, 0.10352099464830214, 0.0063079198108090566,
    -0.006327361839767042, -0.0006719627202846783, 0.0006252971216827459, 2.8503622712590154e-06,
    -7.152746193763236e-05, 1.4116682485527146e-05, 6.257313363276409e-06, -3.419833246877239e-06,
    -1.9549801194839763e-07, 3.7761804257564386e-07)
# by x/4 - 1 in [-1, 1]
_I0E_NEAR = (0.2070019212239867, -0.11300432688620549, 0.09451562853995128, -0.08904344136075996,
    0.08734341617550444, -0.0849633809161467, 0.07927522590771253, -0.06954119561755709, 0.05677703201147219,
    -0.04298594945020849, 0.030177912101131077, -0.019682654727161884, 0.01196007743546759, -0.006792399677004254,
    0.0036171283971233805, -0.0018118875295363164, 0.0008563095984006595, -0.00038290011799921775,
    0.00016241726535869204, -6.551246718395448e-05, 2.5184579590221213e-05, -9.246236595571034e-06,
    3.248241242814268e-06, -1.0938482792978053e-06, 3.536766296399574e-07, -1.099650193362306e-07,
    3.292611652874266e-08, -9.508918257897698e-09, 2.6505679292345076e-09, -7.124436684927675e-10,
    1.858578220365408e-10, -4.794395457707888e-11, 1.1703443317881017e-11, -2.3941277308806216e-12,
    5.61802913073119e-13, -2.1726476207701854e-13, 4.641428318124729e-14)
# times sqrt(x), by 16 / x - 1 in [-1, 1]
_I0E_FAR = (0.4021765094450081, 0.003360551983667854, 0.00013621607439232746, 1.1143033791556743e-05,
    1.4838475473607391e-06, 2.973598432479169e-07, 8.87225351128584e-08, 3.932602459703109e-08,
    2.1545177650836005e-08, 7.553516470355896e-09, -6.729724111923548e-09, -1.3404241991980871e-08,
    -5.4685974495866e-09, 7.540601378890834e-09, 7.58022133915272e-09, -3.4857887470034955e-09,
    -6.188265090497361e-09, 1.497880830187091e-09, 3.881151253996067e-09, -5.562201990080394e-10,
    -1.7789375042917173e-09, 1.4672236659214398e-10, 5.181936971288284e-10, -1.9216763724933513e-11,
    -7.06893851181878e-11)
# divided by x, by x/4 - 1 in [-1, 1]
_I1E_NEAR = (0.044687709875608835, -0.06112433802966629, 0.06805759990951162, -0.0684826062058255,
    0.06376740371340577, -0.05528003922705024, 0.04467457262129715, -0.033671355519950326, 0.02368601695707607,
    -0.015571309256421273, 0.009583962156780632, -0.005534567761970391, 0.0030057623832676905,
    -0.0015388749550358373, 0.0007445124954004217, -0.00034117477938426364, 0.00014842080349555865,
    -6.142640946229486e-05, 2.4234671426275085e-05, -9.132063757560858e-06, 3.2925220473912016e-06,
    -1.1377494110406018e-06, 3.7740498361241705e-07, -1.2035228759714028e-07, 3.694780743113444e-08,
    -1.0933818811317524e-08, 3.1228227297521508e-09, -8.619380173417873e-10, 2.3007825758635033e-10,
    -5.936135836960764e-11, 1.4876367199369383e-11, -3.676685566289434e-12, 8.654207186980027e-13,
    -1.7472056213065341e-13, 3.948152926295809e-14, -1.415100869623916e-14, 2.932424247924412e-15)
# times sqrt(x), by 16 / x - 1 in [-1, 1]
_I1E_FAR = (0.38939845902587233, -0.009749577193235728, -0.00021923576383430274, -1.5038547201176271e-05,
    -1.8349101134666435e-06, -3.483855609009937e-07, -1.0001323461066435e-07, -4.312935369971356e-08,
    -2.337059627111857e-08, -8.426622829598154e-09, 6.715795128085017e-09, 1.4029693589852716e-08,
    6.040877342160988e-09, -7.630751970065577e-09, -8.044231276166508e-09, 3.406636130196794e-09,
    6.4870195719816896e-09, -1.4171698018664596e-09, -4.047785403711858e-09, 5.146498826087142e-10,
    1.8513716745511988e-09, -1.342266320082222e-10, -5.388285995923524e-10, 1.7502497778701306e-11,
    7.347992441734663e-11)
# erf_inv(x) / x by w = -log(1 - x^2) in [0, 5], and its value at 0 in two parts; to 2^-26, for f32
_ERF_INV_ZERO, _ERF_INV_ZERO_LOW = 0.8862269520759583, -2.7874790031745533e-08
_ERF_INV_NEAR = (0.23201371276215604, 0.011549165116928104, -0.0023352705948701527, -0.00012653947431268868,
    4.404880432626899e-05, 4.150663236592616e-06, -2.0082713391637707e-06, 2.243043015262031e-07,
    -8.931925970244222e-09)
# the same by (sqrt(w) - 3.125) / 0.9 in [-1, 1]
_ERF_INV_FAR = (2.9583201265287262, 0.9033468175620318, 0.0057099785339024866, -0.003864186171906293,
    0.0024797058098058834, -0.0014898754371738456, 0.0006991577740405088, -0.00015245089145829224,
    -7.6262898194246e-05, 4.891612699120466e-05)
# erfc(x) exp(x^2) / t by (t - 0.4375) / 0.375 in [-1, 1], where t = 2 / (2 + x)
_ERFC_SCALED = (0.46998907617851965, 0.23218518476677014, 0.07422943767202284, 0.009718466692460069,
    -0.0026586233436429484, -0.001002861687143266, 0.00018521522081452543, 9.644572876303478e-05,
    -2.5782827880313787e-05, -8.716633758803772e-06, 4.509708378948052e-06, 3.6685451165613606e-07,
    -7.192418170760463e-07, 1.1999407223020342e-07, 7.950377411518193e-08, -4.311595175913793e-08,
    5.596029861298481e-10, 7.2824583307864266e-09, -2.7752305224773414e-09, -2.609009540925483e-10,
    6.288459957786873e-10, -2.1746018798563407e-10, -2.721069816787028e-11, 5.6555835538724486e-11,
    -2.1992038714355093e-11, -1.2619898464612118e-12, 5.970059137115973e-12, -2.692983409301088e-12,
    -3.0319711531373337e-13, 7.117396976920286e-13, -1.4339566046187223e-13, -6.79071993846197e-14,
    2.4309155472602813e-14)

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
    a = lax.clamp(lax.full_like(x, 0.0), lax.abs(x), lax.full_like(x, 30.0))  # exp(-900) is 0 in any float of 32 bits
    t = 2 / (2 + a)
    positive = lax.exp(-a * a) * t * _polynomial((t - 0.58) * (1 / 0.42), _ERFC)
    return lax.select(x < 0, 2 - positive, positive)


def erfc_of_double(x):
    """erfc of an argument that was f64 from the beginning."""
    a = lax.clamp(lax.full_like(x, 0.0), lax.abs(x), lax.full_like(x, 30.0))
    # exp(-a^2) of a^2 = c^2 + (a - c) (a + c), where the square of c is exact. Where it is no normal number, by its root.
    c = lax.convert_element_type(lax.convert_element_type(a, np.float32), np.float64)
    deep = a > 26
    power = lax.exp(-c * c * lax.select(deep, lax.full_like(a, 0.5), lax.full_like(a, 1.0)))
    t = 2 / (2 + a)
    scaled = lax.exp((c - a) * (c + a)) * t * _polynomial((t - 0.4375) / 0.375, _ERFC_SCALED)
    far = power * scaled * lax.select(deep, power, lax.full_like(a, 1.0))
    return lax.select(lax.abs(x) < 0.5, 1 - lax.erf(x), lax.select(x < 0, 2 - far, far))


def erf_inv(x):
    """In f32, which is enough, and random normal numbers are made of it."""
    w = -lax.log((1 - x) * (1 + x))
    near = w * _polynomial(w, _ERF_INV_NEAR) + _ERF_INV_ZERO_LOW + _ERF_INV_ZERO
    far = _polynomial((lax.sqrt(w) - 3.125) * (1 / 0.9), _ERF_INV_FAR)
    return lax.select(lax.abs(x) == 1, x * math.inf, x * lax.select(w < 5, near, far))


def _to_one_two(z):
    """y - 1 for a y in [1, 2) that is a whole number from z, which is in (0, 3)."""
    return _by_thirds(z, z, z - 1, z - 2)


def lgamma(x):
    z = lax.abs(x)
    low = _to_one_two(z)
    log = lax.log(lax.select(z < 3, _by_thirds(z, z, lax.full_like(z, 1.0), z - 1), z))
    below_two = low * (low - 1) * _polynomial(low - 0.5, _LGAMMA_ONE_TWO)
    near = below_two + lax.select(z < 1, -log, log)
    far = (z - 0.5) * log - z + 0.5 * math.log(2 * math.pi) + _polynomial(1 / (z * z), _STIRLING) / z
    positive = lax.select(z < 3, near, far)
    # gamma(-z) gamma(1 + z) = -pi / sin(pi z), where gamma(1 + z) = z gamma(z) is not needed of a small z.
    sine = lax.abs(lax.sin(math.pi * (z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN))))
    inverse = -lax.log(lax.select(z < 1, sine, sine * z * (1 / math.pi)))
    negative = inverse + lax.select(z < 1, math.log(math.pi) - below_two, -positive)
    return lax.select(_is_infinite(z), z, lax.select(x < 0, negative, positive))


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
    cotangent = math.pi * lax.cos(math.pi * turn) / lax.sin(math.pi * turn)
    negative = lax.select(turn == 0, lax.full_like(z, math.nan), positive + inverse + cotangent)
    return lax.select(x > 0, positive, lax.select(x == 0, -1 / x, negative))


def bessel_i0e(x):
    a = lax.abs(x)
    return lax.select(a < 8, _polynomial(a * 0.25 - 1, _I0E_NEAR), _polynomial(16 / a - 1, _I0E_FAR) * lax.rsqrt(a))


def bessel_i1e(x):
    a = lax.abs(x)
    far = _polynomial(16 / a - 1, _I1E_FAR) * lax.rsqrt(a)
    return lax.select(a < 8, x * _polynomial(a * 0.25 - 1, _I1E_NEAR), lax.select(x < 0, -far, far))


def exp2(x):
    """Of f32 and f64, in their own type."""
    single = x.dtype == np.float32
    integer, bias, mantissa, limit = (np.int32, 127, 23, 200.0) if single else (np.int64, 1023, 52, 1100.0)
    x = lax.clamp(lax.full_like(x, -limit), x, lax.full_like(x, limit))  # NaN stays
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    exponent = lax.convert_element_type(whole, integer)
    half = exponent >> 1  # the biggest and smallest powers are no normal numbers

    def power(n):
        return lax.bitcast_convert_type((n + bias) << mantissa, x.dtype)

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


def sin(z):
    turned = sinh(lax.complex(-lax.imag(z), lax.real(z)))
    return lax.complex(lax.imag(turned), -lax.real(turned))


def cos(z):
    return cosh(lax.complex(-lax.imag(z), lax.real(z)))


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

    on_axis = y if other is lax.cosh else jnp.copysign(y, x) * jnp.copysign(1, y)
    return lax.complex(times(real, cos), lax.select(y == 0, on_axis, times(other, sin)))
