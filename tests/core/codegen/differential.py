"""Generated code against jaxlib: programs become HLO text, run_hlo runs them, jaxlib's CPU backend is the oracle.

    python tests/core/codegen/differential.py --run-hlo BUILD/tests/core/codegen/run_hlo [-k PART_OF_NAME] [--keep DIR]

Every case runs twice: a kernel for each instruction, and, if its operations allow it, as one fusion.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from differential_cases import cases  # noqa: E402


def hlo_text(function, arguments):
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    text = lowered.compiler_ir("hlo").as_hlo_text(True)
    return re.sub(r"(\w\[[\d,]*\])\{[\d,]*\}", r"\1", text)  # layouts say nothing about values


def leaves_bytes(values):
    return b"".join(np.ascontiguousarray(np.asarray(v)).tobytes() for v in jax.tree.leaves(values))


def write_case(folder, case):
    expected = jax.tree.leaves(jax.jit(case.function)(*case.arguments))
    text = hlo_text(case.function, case.arguments)
    names = [case.name]
    if case.fuses:
        names.append(case.name + ".fused")
    for name in names:
        (folder / f"{name}.hlo").write_text(text)
        (folder / f"{name}.in").write_bytes(leaves_bytes(case.arguments))
    return names, [np.asarray(x) for x in expected]


def as_wide(x):
    kind = x.dtype.kind
    if kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64) if kind not in "biu" else x


def mismatch(got, want, rtol, atol):
    """None, or what is wrong."""
    if want.dtype.kind in "biu" or want.dtype == np.bool_:
        bad = got != want
    else:
        g, w = as_wide(got), as_wide(want)
        with np.errstate(all="ignore"):
            same = (g == w) | (np.isnan(g) & np.isnan(w))
            flushed = float(np.finfo(np.float32).tiny) if want.itemsize < 8 or want.dtype == np.complex64 else 1e-307
            bad = ~same & ~(np.abs(g - w) <= max(atol, flushed) + rtol * np.abs(w))
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0]) if bad.ndim else ()
    return f"{int(bad.sum())} of {bad.size} differ, first at {at}: got {got[at]!r}, want {want[at]!r}"


def check(folder, name, case, expected):
    error = folder / f"{name}.err"
    if error.exists():
        return error.read_text()
    output = folder / f"{name}.out"
    if not output.exists():
        return "no output (crashed?)"
    data = output.read_bytes()
    offset = 0
    for k, want in enumerate(expected):
        size = want.size * want.dtype.itemsize
        got = np.frombuffer(data[offset : offset + size], dtype=want.dtype).reshape(want.shape)
        offset += size
        problem = mismatch(got, want, case.rtol, case.atol)
        if problem:
            return f"result {k}: {problem}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-hlo", required=True)
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    parser.add_argument("--keep", help="work in this folder and leave it")
    parser.add_argument("-v", action="store_true", help="print times")
    options = parser.parse_args()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        old.unlink()
    todo = []
    for case in cases():
        if options.k in case.name:
            try:
                names, expected = write_case(folder, case)
            except Exception as error:  # jaxlib has no such program: the case is wrong
                print(f"BAD CASE {case.name}: {str(error)[:200]}")
                continue
            todo += [(name, case, expected) for name in names]
    result = subprocess.run([options.run_hlo, str(folder)])
    failures = 0
    for name, case, expected in todo:
        problem = check(folder, name, case, expected)
        failures += problem is not None
        if problem:
            print(f"FAIL {name}: {problem[:400]}")
        elif options.v:
            print(f"ok   {name}  {(folder / (name + '.time')).read_text().strip()}")
    print(f"{len(todo) - failures} of {len(todo)} passed")
    return 1 if failures or result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
