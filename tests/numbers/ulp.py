"""How far elementary and special functions are from the truth, in units in the last place, over all of a float's range.

    .venv/bin/python tests/numbers/ulp.py [--types f32,f64] [-k NAME] [--count 2000] [--beside cpu] [--brief]

The truth is mpmath's, at 200 bits. Arguments are random bit patterns (subnormal and huge numbers are as likely as others),
numbers of ordinary size, neighbours of zeros, poles and branch points, multiples of pi/2, and the special values; all of
them where a type has 16 bits. What is printed is a Markdown table: the worst and the 99.9th percentile of each function on
Shoal, beside the same of another platform. For complex numbers the error is |got - truth| in ulps of |truth|. --brief
prints a line a function with the worst alone, of Shoal, the other platform, and NumPy or SciPy where they have it; of lgamma
and digamma it tells positive arguments apart, since near their zeros between negative whole numbers all three lose digits.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

mp.prec = 200
DTYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "c64": np.complex64,
          "c128": np.complex128}
REAL, SMALL, COMPLEX = ("f32", "f64"), ("bf16", "f16"), ("c64", "c128")


def log_gamma(x):
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1e5 else mp.re(mp.loggamma(x))


def scaled_bessel(order):
    return lambda x: mp.besseli(order, x) * mp.exp(-abs(x)) if abs(x) < 1e6 else _bessel_at_infinity(order, x)


def _bessel_at_infinity(order, x):
    mu, z, term, total = 4 * order**2, abs(x), mpf(1), mpf(1)
    for k in range(1, 12):
        term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * z)
        total += term
    return mp.sign(x) ** order * total / mp.sqrt(2 * mp.pi * z)


def tanh_complex(z):
    return mp.tanh(z) if abs(mp.re(z)) < 500 else mp.sign(mp.re(z)) + mpf(0)


def normal_quantile(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


# name: (in JAX, truth, types, where zeros, poles and branches are, the share of --count that mpmath has time for)
ALL_TYPES = (*REAL, *SMALL, *COMPLEX)
UNARY = {
    "exp": ("lax.exp", mp.exp, ALL_TYPES, [88.72, 709.78, -103.9, -745.1], 1),
    "exp2": ("lax.exp2", lambda x: mp.power(2, x), REAL + SMALL, [128, 1024, -149, -1074], 1),
    "expm1": ("lax.expm1", mp.expm1, ALL_TYPES, [88.72, 709.78, -17, -37], 1),
    "log": ("lax.log", mp.log, ALL_TYPES, [1], 1),
    "log1p": ("lax.log1p", mp.log1p, ALL_TYPES, [-1], 1),
    "sin": ("lax.sin", mp.sin, ALL_TYPES, [], 1),
    "cos": ("lax.cos", mp.cos, ALL_TYPES, [], 1),
    "tan": ("lax.tan", mp.tan, ALL_TYPES, [], 1),
    "asin": ("lax.asin", mp.asin, ALL_TYPES, [1, -1], 1),
    "acos": ("lax.acos", mp.acos, ALL_TYPES, [1, -1], 1),
    "atan": ("lax.atan", mp.atan, ALL_TYPES, [1], 1),
    "sinh": ("lax.sinh", mp.sinh, ALL_TYPES, [89.4, 710.4], 1),
    "cosh": ("lax.cosh", mp.cosh, ALL_TYPES, [89.4, 710.4], 1),
    "tanh": ("lax.tanh", tanh_complex, ALL_TYPES, [0.55, 9, 19], 1),
    "asinh": ("lax.asinh", mp.asinh, ALL_TYPES, [1], 1),
    "acosh": ("lax.acosh", mp.acosh, ALL_TYPES, [1], 1),
    "atanh": ("lax.atanh", mp.atanh, ALL_TYPES, [1, -1], 1),
    "logistic": ("lax.logistic", lambda x: 1 / (1 + mp.exp(-x)), ALL_TYPES, [-103.9, -745.1, -88, -709], 1),
    "sqrt": ("lax.sqrt", mp.sqrt, ALL_TYPES, [1], 1),
    "rsqrt": ("lax.rsqrt", lambda x: 1 / mp.sqrt(x), ALL_TYPES, [1], 1),
    "cbrt": ("lax.cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), REAL + SMALL, [1], 1),
    "abs": ("lax.abs", abs, COMPLEX, [1], 1),
    "erf": ("lax.erf", mp.erf, REAL + SMALL, [1, 4, 6], 1),
    "erfc": ("lax.erfc", mp.erfc, REAL + SMALL, [1, 2, 10, 26], 1),
    "erf_inv": ("lax.erf_inv", mp.erfinv, REAL + SMALL, [1, -1, 0.9, 0.997], 0.2),
    "lgamma": ("lax.lgamma", log_gamma, REAL + SMALL, [1, 2, -1, -2, -2.457024738220, -2.747682646727, -3.143580888349], 1),
    "digamma": ("lax.digamma", lambda x: mp.psi(0, x), REAL + SMALL, [1.4616321449683, -0.504083008264, -1.573498473162], 0.5),
    "bessel_i0e": ("lax.bessel_i0e", scaled_bessel(0), REAL + SMALL, [8], 0.5),
    "bessel_i1e": ("lax.bessel_i1e", scaled_bessel(1), REAL + SMALL, [8], 0.5),
    "ndtr": ("special.ndtr", mp.ncdf, REAL, [-5, -37], 1),
    "log_ndtr": ("special.log_ndtr", lambda x: mp.log(mp.ncdf(x)), REAL, [-5, -20, 5], 1),
    "ndtri": ("special.ndtri", normal_quantile, REAL, [0.5, 1], 0.2),
    "logit": ("special.logit", lambda x: mp.log(x / (1 - x)), REAL, [0.5, 1], 1),
    "gamma": ("special.gamma", mp.gamma, REAL, [35, 171.6, -1, -2], 1),
    "i0": ("special.i0", lambda x: mp.besseli(0, x), REAL, [8, 88], 0.2),
    "spence": ("special.spence", lambda x: mp.re(mp.polylog(2, 1 - x)), REAL, [1, 2], 0.1),
}
BINARY = {
    "pow": ("lax.pow", mp.power, ALL_TYPES, 1),
    "atan2": ("lax.atan2", mp.atan2, REAL + SMALL, 1),
    "rem": ("lax.rem", lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)), REAL + SMALL, 1),
    "mul": ("lax.mul", lambda x, y: x * y, COMPLEX, 1),
    "div": ("lax.div", lambda x, y: x / y, COMPLEX, 1),
    "zeta": ("special.zeta", mp.zeta, REAL, 0.05),
    "polygamma": ("special.polygamma", lambda n, x: mp.psi(int(n), x), REAL, 0.05),
    "gammainc": ("special.gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), REAL, 0.1),
    "gammaincc": ("special.gammaincc", lambda a, x: mp.gammainc(a, x, regularized=True), REAL, 0.1),
    "betaln": ("special.betaln", lambda a, b: mp.re(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)), REAL, 0.5),
}

# Theirs, where they have another name there or are SciPy's.
NAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
         "pow": "power", "atan2": "arctan2", "rem": "fmod", "mul": "multiply", "div": "divide", "logistic": "expit",
         "erf_inv": "erfinv", "lgamma": "gammaln", "bessel_i0e": "i0e", "bessel_i1e": "i1e"}
WITH_ZEROS_BELOW_ZERO = ("lgamma", "digamma")


def is_complex(dtype):
    return np.dtype(dtype).kind == "c"


def real_arguments(dtype, count, random, points):
    """Arguments of one type, sorted; see the top."""
    if np.dtype(dtype).itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    info = np.finfo(dtype)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    patterns = random.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(dtype)
    ordinary = [random.standard_normal(count), 30 * random.standard_normal(count), random.uniform(-2, 2, count)]
    points = np.array([0.5, 1, 2, *points], dtype)
    near = [points + k * np.spacing(points) for k in range(-3, 4)] + [points * (1 + 10.0**-k) for k in range(1, 9)]
    near = np.concatenate(near)
    multiples = (np.arange(1, count // 8) * (np.pi / 2)).astype(dtype)
    special = [0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal]
    parts = [patterns, *ordinary, near, -near, multiples, special, [1e10, 1e12, 1e15, 1e22, 1e5, -1e6]]
    return np.concatenate([np.asarray(p).astype(dtype) for p in parts])


def complex_arguments(dtype, count, random, points):
    part = np.float32 if dtype == np.complex64 else np.float64
    re, im = (real_arguments(part, count // 4, random, points) for _ in range(2))
    # mpmath loses what is 2^200 times smaller than the rest.
    with np.errstate(all="ignore"):
        wide = (np.abs(np.log2(np.abs(re) + 1e-300)) < 90) & (np.abs(np.log2(np.abs(im) + 1e-300)) < 90)
    re, im = re[wide], np.roll(im[wide], 7)
    ordinary = random.standard_normal((2, count)) * np.exp(3 * random.standard_normal((2, count)))
    near_one = (1 + 1e-3 * random.standard_normal(count)) * np.exp(1j * random.uniform(-np.pi, np.pi, count))
    z = np.concatenate([re + 1j * im, ordinary[0] + 1j * ordinary[1], near_one])
    return z.astype(dtype)


def arguments(name, dtype, count):
    """The operands of function `name`: one array each."""
    random = np.random.default_rng(len(name))
    make = complex_arguments if is_complex(dtype) else real_arguments
    if name in UNARY:
        _, _, _, points, share = UNARY[name]
        return [make(dtype, int(count * share), random, points)]
    if name in ("zeta", "polygamma", "gammainc", "gammaincc", "betaln"):
        n = int(count * BINARY[name][-1])
        x, y = random.exponential(1, (2, n)) * 10 ** random.uniform(-2, 2, (2, n))
        if name == "zeta":
            x += 1
        if name == "polygamma":
            x = random.integers(1, 8, n)
        return [x.astype(dtype), y.astype(dtype)]
    x, y = (make(dtype, count // 2, random, []) for _ in range(2))
    order = random.permutation(len(y))
    x, y = x[: 1 << 14] if np.dtype(dtype).itemsize == 2 else x, y[order]
    x = np.resize(x, y.shape) if len(x) < len(y) else x[: len(y)]
    if name == "pow" and is_complex(dtype):  # the error grows with the exponent
        y = y[np.argsort(np.abs(y))][: len(y) // 2]
        x = x[: len(y)]
    if name == "pow" and not is_complex(dtype):
        small = random.uniform(0, 3, (2, count))
        near = 1 + random.standard_normal(count) * 1e-3
        x = np.concatenate([x, np.abs(x), np.exp(small[0] * 9).astype(dtype), near.astype(dtype)])
        y = np.concatenate([y, y, small[1].astype(dtype), (1e4 * random.standard_normal(count)).astype(dtype)])
    if name == "rem":  # quotients of 2^2000 take mpmath's time
        keep = np.abs(np.log2(np.abs(x.astype(np.float64)) + 1e-300) - np.log2(np.abs(y.astype(np.float64)) + 1e-300)) < 300
        x, y = x[keep], y[keep]
    return [x[: 8 * count], y[: 8 * count]]


def exact(x):
    return mp.mpc(x.real, x.imag) if isinstance(x, complex) else mpf(x)


def truths(name, operands):
    """The truth as two arrays, whose sum has twice a double's digits, and which of them are numbers at all."""
    function = (UNARY.get(name) or BINARY.get(name))[1]
    wide = np.complex128 if is_complex(operands[0].dtype) else np.float64
    with np.errstate(invalid="ignore"):  # signalling NaNs among the bit patterns
        wide_operands = [x.astype(wide) for x in operands]
    high, low = np.zeros(len(operands[0]), wide), np.zeros(len(operands[0]), wide)
    known = np.all([np.isfinite(x) for x in wide_operands], axis=0)
    if name == "atan2":  # mpmath has no -0
        known &= ~((wide_operands[0] == 0) & (wide_operands[1] <= 0))
    for i in np.nonzero(known)[0]:
        try:
            value = function(*(exact(x[i].item()) for x in wide_operands))
            if wide is np.float64 and isinstance(value, mpmath.mpc):
                value = mp.nan if value.imag != 0 else value.real
            high[i] = wide(value)
            if np.isfinite(high[i]):
                low[i] = wide(value - exact(high[i].item()))
        except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence, MemoryError):
            known[i] = False
    known &= ~np.isnan(high)
    return high, low, known


def ulps(got, truth, dtype):
    """Distances in ulps of the rounded truth; inf where one is finite and the other is not, short of rounding."""
    high, low, known = truth
    part = np.dtype(dtype).type(0).real.dtype if is_complex(dtype) else np.dtype(dtype)
    info = ml_dtypes.finfo(part)
    got = got.astype(high.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(high)
        exponent = np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1)))
        exponent = np.where(size > 0, np.maximum(exponent, info.minexp), info.minexp) - info.nmant
        distance = np.ldexp(np.abs((got - high) - low), -np.maximum(exponent, -1000).astype(int))
        distance = np.ldexp(distance, -(exponent - np.maximum(exponent, -1000)).astype(int))
        overflows = size >= float(info.max)
        same = (got == high) | (overflows & ~np.isfinite(np.abs(got)) & ~np.isnan(got.real))
        distance = np.where(same, 0, distance)
        distance = np.where(overflows & ~same & (np.abs(got) >= 0.999 * float(info.max)), 1, distance)
        distance = np.where(np.isnan(distance), np.inf, distance)
    return np.where(known, distance, 0)


EVALUATE = r"""
import importlib, sys
import jax, ml_dtypes
import numpy as np
jax.config.update("jax_enable_x64", True)
from jax import lax
import jax.scipy.special as special
given, results = np.load(sys.argv[1], allow_pickle=True), {}
for key in given.files:
    module, function = key.split()[1].split(".")
    operands = list(given[key])
    dtype = operands[0].dtype
    if function == "polygamma":
        operands[0] = operands[0].astype(np.int32)
    results[key] = np.asarray(jax.jit(getattr({"lax": lax, "special": special}[module], function))(*operands)).astype(
        np.complex128 if dtype.kind == "c" else np.float64)
np.savez(sys.argv[2], **results)
"""


def evaluate(cases, environment):
    """What JAX makes of {key: operands} in a process of this environment."""
    with tempfile.TemporaryDirectory() as folder:
        given, results = pathlib.Path(folder, "in.npz"), pathlib.Path(folder, "out.npz")
        packed = {}
        for key, operands in cases.items():
            packed[key] = np.empty(len(operands), object)
            packed[key][:] = operands
        np.savez(given, **packed)
        subprocess.run([sys.executable, "-c", EVALUATE, given, results], check=True, env=environment)
        return dict(np.load(results))


def table(types, chosen=lambda name: True, count=2000):
    """{(function, type): (key, operands, truth)} for the chosen functions that have a type of `types`."""
    rows = {}
    for name, row in (UNARY | BINARY).items():
        for text in types:
            if text in row[2] and chosen(name):
                operands = arguments(name, DTYPES[text], count)
                rows[name, text] = (f"{name}_{text} {row[0]}", operands, truths(name, operands))
    return rows


def numpys(name, operands):
    """What NumPy or SciPy gives, in the operands' type; None where neither has that function of it."""
    name = NAMED.get(name, name)
    function = getattr(np, name, None) or getattr(scipy.special, name, None)
    try:
        with np.errstate(all="ignore"):
            return function(*operands)
    except TypeError:
        return None


def print_briefly(rows, got):
    """A line a function, a column a type."""
    lines, types = {}, list(dict.fromkeys(text for _, text in rows))
    for (name, text), (key, operands, (high, low, known)) in rows.items():
        results = [results[key] for results in got.values()] + [numpys(name, operands)]
        parts = {name: known}
        if name in WITH_ZEROS_BELOW_ZERO:
            parts = {f"{name}, x > 0": known & (operands[0] > 0), f"{name}, x < 0": known & ~(operands[0] > 0)}
        for part, asked in parts.items():
            worst = [ulps(r, (high, low, asked), DTYPES[text]).max() for r in results if r is not None]
            lines.setdefault(part, {})[text] = " / ".join(f"{w:.2f}" if w < 100 else f"{w:.0e}" for w in worst)
    print("| function |", " | ".join(types), "|")
    print("|---" * (len(types) + 1) + "|")
    for part, cells in lines.items():
        print(f"| {part} |", " | ".join(cells.get(text, "") for text in types), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="f32,f64,bf16,f16,c64,c128")
    parser.add_argument("-k", default="")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--platform", default="shoal")
    parser.add_argument("--beside", default="cpu")
    parser.add_argument("--brief", action="store_true")
    options = parser.parse_args()
    rows = table(options.types.split(","), lambda name: options.k in name, options.count)
    cases = {key: operands for key, operands, _ in rows.values()}
    platforms = [p for p in (options.platform, options.beside) if p]
    got = {platform: evaluate(cases, {**os.environ, "JAX_PLATFORMS": platform}) for platform in platforms}
    if options.brief:
        return print_briefly(rows, got)
    print("| function | type |", " | ".join(f"{p}: worst, 99.9 %, beyond 2" for p in platforms), "| worst at |")
    print("|---" * (len(platforms) + 3) + "|")
    for (name, text), (key, operands, truth) in rows.items():
        cells, at = [], ""
        for platform in platforms:
            distance = ulps(got[platform][key], truth, DTYPES[text])
            cells.append(f"{distance.max():.3g}, {np.quantile(distance, 0.999):.3g}, {(distance > 2).sum()}")
            if platform == options.platform:
                i = int(np.argmax(distance))
                at = f"{', '.join(repr(x[i].item()) for x in operands)}: {got[platform][key][i]!r}, not {truth[0][i]!r}"
        print(f"| {name} | {text} |", " | ".join(cells), f"| {at} of {len(operands[0])} |")


if __name__ == "__main__":
    main()
