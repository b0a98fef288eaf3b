"""How far the elementary functions are from the truth, in units in the last place, over all of a float's range.

    python tests/core/codegen/ulp.py --run-hlo BUILD/tests/core/codegen/run_hlo [-k PART_OF_NAME]

Arguments are random bit patterns (so subnormals and huge numbers are as likely as others), random numbers of ordinary
size, neighbours of the branch points, and the special values. The truth for f32 is NumPy or SciPy in f64, for f64 it is
x87's long double where NumPy has it.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.special

LIMIT = 2.0
LIMITS = {"erf_f64": 4.0}  # the truth that SciPy gives for it is no better than a double
FUNCTIONS = {  # HLO name: truth
    "exponential": np.exp, "exponential-minus-one": np.expm1, "log": np.log, "log-plus-one": np.log1p, "sine": np.sin,
    "cosine": np.cos, "tan": np.tan, "tanh": np.tanh, "logistic": None, "erf": scipy.special.erf, "cbrt": np.cbrt,
    "rsqrt": None, "sqrt": np.sqrt, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "asin": np.arcsin, "acos": np.arccos, "floor": np.floor, "ceil": np.ceil, "round-nearest-even": np.rint,
}
BINARY = {"power": np.power, "atan2": np.arctan2, "remainder": np.fmod}


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def arguments(dtype, count, seed):
    r = np.random.default_rng(seed)
    bits = np.uint32 if dtype == np.float32 else np.uint64
    patterns = r.integers(0, np.iinfo(bits).max, count, dtype=bits, endpoint=True).view(dtype)
    ordinary = np.concatenate([r.standard_normal(count), 30 * r.standard_normal(count), r.uniform(-2, 2, count)]).astype(dtype)
    points = np.array([0, 1, 0.5, 2, np.pi / 4, np.pi / 2, np.pi, 88.7, 709.7, 0.625, np.sqrt(0.5), np.sqrt(2), 4.0, 1e5, 1e6,
                       1e10, 1e12, 1e15, 1e22], dtype)
    near = np.concatenate([points + k * np.spacing(points) for k in range(-3, 4)])
    multiples = (np.arange(1, count // 8) * (np.pi / 2)).astype(dtype)
    info = np.finfo(dtype)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal], dtype)
    x = np.concatenate([patterns, ordinary, near, -near, multiples, special])
    return x[r.permutation(len(x))]


def ulps(got, truth, dtype):
    """Distance in units of the last place of the rounded truth; inf where kinds, or the signs of zeros, differ."""
    rounded = truth.astype(dtype)
    spacing = np.spacing(np.abs(rounded)).astype(np.longdouble)
    spacing = np.where(np.isfinite(spacing) & (spacing > 0), spacing, 1)
    distance = np.abs(got.astype(np.longdouble) - truth.astype(np.longdouble)) / spacing
    same_kind = (np.isnan(got) & np.isnan(rounded)) | ((got == rounded) & (np.signbit(got) == np.signbit(rounded)))
    distance = np.where(same_kind & ~np.isfinite(distance), 0, distance)
    distance = np.where(same_kind & ~np.isfinite(rounded), 0, distance)
    wrong = ~same_kind & (~np.isfinite(got) | ~np.isfinite(rounded) | ((got == 0) & (rounded == 0)))
    edge = wrong & np.isinf(got) & (np.abs(truth) > 0.9999999 * np.finfo(dtype).max.astype(np.longdouble))
    distance = np.where(wrong, np.inf, distance)
    return np.where(edge, 1, distance)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-hlo", required=True)
    parser.add_argument("-k", default="")
    parser.add_argument("--count", type=int, default=20000)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    todo = []
    for name in list(FUNCTIONS) + list(BINARY):
        for text, dtype in (("f32", np.float32), ("f64", np.float64)):
            label = f"{name}_{text}"
            if options.k not in label:
                continue
            operands = [arguments(dtype, options.count, 1)]
            if name in BINARY:
                operands.append(arguments(dtype, options.count, 2))
            n = len(operands[0])
            declared = "".join(f"  p{i} = {text}[{n}] parameter({i})\n" for i in range(len(operands)))
            used = ", ".join(f"p{i}" for i in range(len(operands)))
            (folder / f"{label}.hlo").write_text(
                f"HloModule m\nENTRY main {{\n{declared}  ROOT r = {text}[{n}] {name}({used})\n}}\n")
            (folder / f"{label}.in").write_bytes(b"".join(x.tobytes() for x in operands))
            todo.append((label, name, dtype, operands))
    subprocess.run([options.run_hlo, str(folder)], check=True)
    failures = 0
    for label, name, dtype, operands in todo:
        output = folder / f"{label}.out"
        if not output.exists():
            print(f"FAIL {label}: {(folder / (label + '.err')).read_text()}")
            failures += 1
            continue
        got = np.frombuffer(output.read_bytes(), dtype)
        wide = np.float64 if dtype == np.float32 else np.longdouble
        exact = [x.astype(wide) for x in operands]
        with np.errstate(all="ignore"):
            if name == "logistic":
                truth = logistic(exact[0])
            elif name == "rsqrt":
                truth = 1 / np.sqrt(exact[0])
            elif name == "erf":
                truth = scipy.special.erf(exact[0].astype(np.float64))
            else:
                truth = {**FUNCTIONS, **BINARY}[name](*exact)
        with np.errstate(all="ignore"):
            distance = ulps(got, truth, dtype)
        worst = int(np.argmax(distance))
        good = distance[worst] <= LIMITS.get(label, LIMIT)
        failures += not good
        at = ", ".join(repr(x[worst]) for x in operands)
        print(f"{'ok  ' if good else 'FAIL'} {label:28} {distance[worst]:8.2f} ulp at {at}: got {got[worst]!r}, truth {truth[worst]!r}"
              f"; {int((distance > LIMIT).sum())} of {len(distance)} beyond")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
