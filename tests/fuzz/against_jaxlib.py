"""Random programs by Shoal and by jaxlib's CPU backend: `python tests/fuzz/against_jaxlib.py --first 0 --count 500`.

A worker process runs both (JAX_PLATFORMS=shoal,cpu) and tells a line of JSON a seed; the parent starts another one after
a crash or a hang, from the next seed on, and finds out whose it is by running that program with each side alone. A
difference is first compared with what jaxlib's own results do when every float is moved by a few units of its last place
(noise.py): where those move as far, it is rounding. Then Shoal is asked for the program without subnormal numbers, of which
jaxlib makes zeros, and jaxlib for the program's operations one by one: where these give what Shoal gives, its compiler is wrong.
What is left is reported with the first value of the program that differs, as the jaxpr of what it depends on.
"""

import argparse
import collections
import contextlib
import faulthandler
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path[:0] = [str(folder) for folder in pathlib.Path(__file__).resolve().parents[:2]]
from worker import Worker  # noqa: E402

PATIENCE_S = 120  # for one program on both sides
# A number next to another, as tanh is to 1, is moved onto its other side by half of them: of thousands, six leave some.
NOISE_RUNS, MANY_RUNS = 6, 30
CRASHED, STUCK = "crashed", f"no end in {PATIENCE_S} s"
REFUSED = "refused by jaxlib"
ITSELF = "jaxlib differs from its own operations one by one, which give what Shoal gives"
FLUSHED = "jaxlib's subnormal numbers are zeros, and with zeros Shoal gives the same"
BREAKS = "jaxlib alone crashes or hangs"
JAXLIBS = (REFUSED, ITSELF, FLUSHED, BREAKS)  # no fault of Shoal's
# jaxlib's compiler takes most of the time, and is to be right, not fast; nobody reads where an operation was written.
QUICK = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false",
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
}
# Widest relative differences that need no look; on the scale of the largest number of an array, too.
CLOSE = {"float16": 0.02, "bfloat16": 0.06, "float32": 3e-4, "complex64": 3e-4, "float64": 1e-9, "complex128": 1e-9}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--alone", choices=["cpu", "shoal"], help="run one program with one side, without a judgement")
    parser.add_argument("--show", type=int, help="print one program and where it differs")
    options = parser.parse_args()
    if options.show is not None:
        return show(options.show)
    if options.worker:
        return work(range(options.first, options.first + options.count))
    if options.alone:
        return alone(options.first, options.alone)
    start, counts = time.time(), collections.Counter()
    for told in run(options.first, options.count):
        counts[told["verdict"]] += 1
        if told["verdict"] not in ("same", REFUSED):
            print(f"seed {told['seed']}: {told['verdict']}\n{told['detail']}\n", flush=True)
    bad = sum(n for verdict, n in counts.items() if verdict not in ("same", *JAXLIBS))
    explained = "".join(f"; {counts[verdict]}: {verdict}" for verdict in JAXLIBS if counts[verdict])
    print(f"{options.count} programs from seed {options.first}: {bad} differ{explained}; {time.time() - start:.0f} s")
    return bad > 0


def run(first, count):
    """What the worker tells of each seed; crashes and hangs included."""
    last, at = first + count, first
    while at < last:
        for told in one_worker(at, last - at):
            if told["verdict"] in (CRASHED, STUCK):
                told["verdict"] = whose(told)
            yield told
            at = told["seed"] + 1


def whose(told):
    """The verdict on a crash or a hang."""
    for side, verdict in (("shoal", f"Shoal alone: {told['verdict']}"), ("cpu", BREAKS)):
        command = [sys.executable, __file__, "--alone", side, "--first", str(told["seed"])]
        try:
            if subprocess.run(command, env=environment(side), capture_output=True, timeout=3 * PATIENCE_S).returncode:
                return verdict
        except subprocess.TimeoutExpired:
            return verdict
    return f"{told['verdict']}, but neither side does alone"


def environment(platforms):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_", "JAX_"))}
    return env | dict(JAX_PLATFORMS=platforms, JAX_ENABLE_X64="1", PYTHONUNBUFFERED="1") | QUICK


def one_worker(first, count):
    command = [sys.executable, __file__, "--worker", "--first", str(first), "--count", str(count)]
    worker = Worker(command, environment("shoal,cpu"), PATIENCE_S)
    at = first
    for line in worker:
        yield json.loads(line)
        at += 1
    if at < first + count:
        yield {"seed": at, "verdict": STUCK if worker.stuck else CRASHED, "detail": worker.errors[-3000:]}


def work(seeds):
    import jax

    faulthandler.enable()
    assert jax.devices("shoal")[0] != jax.devices("cpu")[0], "the oracle is to be jaxlib"
    for seed in seeds:
        faulthandler.dump_traceback_later(PATIENCE_S * 0.9)  # where it hangs, for the parent to tell
        verdict, detail = judge(seed)
        print(json.dumps({"seed": seed, "verdict": verdict, "detail": detail}))


def judge(seed):
    """(verdict, detail) of one seed."""
    from noise import flushed
    from random_program import generate

    program = generate(seed)
    try:
        want = evaluate(program, "cpu")
    except Exception as error:  # noqa: BLE001
        return REFUSED, f"{program.names()}\n{str(error)[:500]}"
    try:
        got = evaluate(program, "shoal")
        differing = compare(program, want, got)
        # jaxlib has given -1.1e31 for sums of numbers up to 9, and the right ones when it was asked again: a difference is
        # one that it repeats. Shoal has to give the same bits each time.
        if differing and all(a.tobytes() == b.tobytes() for a, b in zip(got, evaluate(program, "shoal"))):
            differing = compare(program, evaluate(program, "cpu"), got)
        if not differing:
            return "same", ""
        detail = f"{program.names()}\n{differing[0][1]}"
        if not compare(program, want, evaluate(program, "shoal", flushed)):
            return FLUSHED, detail
        if not compare(program, want, got, runs=MANY_RUNS):
            return "same", ""
        if not compare(program, evaluate(program, "cpu", one_by_one=True), got, one_by_one=True):
            return ITSELF, detail
    except Exception as error:  # noqa: BLE001: whatever the backend says is the finding
        return "error", f"{program.names()}\n{str(error)[:1500]}"
    return "different", describe(program, differing)


def alone(seed, side):
    """What judge() asks of one side, the most part. Fails where the process dies; what is refused is no matter here."""
    from noise import flushed
    from random_program import generate

    faulthandler.enable()
    program = generate(seed)
    programs = [program] + [program.cone(v) for v in range(len(program.arguments), max(program.outputs) + 1)]
    for part in programs:
        for change in [None, *map(moved_by, range(NOISE_RUNS))] if side == "cpu" else [None, flushed]:
            with contextlib.suppress(Exception):
                evaluate(part, side, change)


def compare(program, want, got, one_by_one=False, runs=NOISE_RUNS):
    """[(output, text)] of the outputs of jaxlib and of Shoal that differ by more than rounding explains."""
    wrong = {i: mismatch(w, g) for i, (w, g) in enumerate(zip(want, got))}
    moved = []
    while (wrong := {i: places for i, places in wrong.items() if places.any()}) and len(moved) < runs:
        moved.append(evaluate(program, "cpu", moved_by(len(moved)), one_by_one))
        wrong = {i: mismatch(want[i], got[i], [m[i] for m in moved]) for i in wrong}
    return [(program.outputs[i], differences(want[i], got[i], places)) for i, places in wrong.items()]


def moved_by(seed):
    from noise import disturbed

    return lambda closed: disturbed(closed, seed)


def evaluate(program, platform, change=None, one_by_one=False):
    """The results as NumPy's; `change` of noise.py; one_by_one: without one compiled program, each operation by itself."""
    import jax
    import numpy as np
    from jax.extend.core import jaxpr_as_fun

    device = jax.devices(platform)[0]
    arguments = [jax.device_put(a, device) for a in program.arguments]
    function = program.function  # traced once for both platforms
    if change is not None:
        function = jax.jit(jaxpr_as_fun(change(jax.make_jaxpr(program.run)(*program.arguments))))
    # A default device is part of what a trace depends on: without one the two platforms share it.
    default = jax.default_device(device) if one_by_one or not arguments else contextlib.nullcontext()
    with default, jax.disable_jit(one_by_one):
        return [np.asarray(v) for v in function(*arguments)]


def mismatch(want, got, moved=()):
    """Where two results differ; `moved`: what rounding alone makes of the first."""
    import jax.numpy as jnp
    import numpy as np

    name = jnp.dtype(want.dtype).name
    if want.shape != got.shape or want.dtype != got.dtype:
        return np.ones(1, bool)
    if name not in CLOSE:
        differ = want != got
        for m in moved:  # a rounded number decided it
            differ &= want == m
        return differ
    wide = np.complex128 if name.startswith("complex") else np.float64
    want, got, moved = want.astype(wide), got.astype(wide), [m.astype(wide) for m in moved]
    finite = np.isfinite(want)
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(want[finite]), initial=0)
        allowed = CLOSE[name] * (np.abs(want) + 0.1 * largest) + 1e-30
        for m in moved:
            spread = np.abs(m - want) * 10
            allowed = np.where(np.isfinite(spread), np.maximum(allowed, spread), np.inf)
        if wide is np.complex128:  # whether an infinite number is NaN in one of its parts is nobody's promise
            same = (np.abs(want - got) <= allowed) | (~np.isfinite(got) & ~finite)
        else:
            same = (np.abs(want - got) <= allowed) | (want == got) | (np.isnan(want) & np.isnan(got))
            if moved:
                same |= np.isinf(allowed)
    return ~same


def differences(want, got, wrong):
    import numpy as np

    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{want.dtype}{want.shape} became {got.dtype}{got.shape}"
    places = np.argwhere(wrong)[:4]
    rows = [f"    at {tuple(map(int, p))}: jaxlib {want[tuple(p)]!r}, Shoal {got[tuple(p)]!r}" for p in places]
    return f"{want.dtype}{want.shape}: {int(wrong.sum())} of {want.size} differ\n" + "\n".join(rows)


def describe(program, differing):
    """The first value of the program that differs when it is the only result."""
    n = len(program.arguments)
    last = max(o for o, _ in differing)
    for value in range(n, last + 1):
        alone = program.cone(value)
        try:
            found = compare(alone, evaluate(alone, "cpu"), evaluate(alone, "shoal"))
        except Exception as error:  # noqa: BLE001
            found = [(value, str(error)[:500])]
        if found:
            return f"{program.names()}\nvalue {value} alone: {found[0][1]}\n{jaxpr(alone)}"
    return f"{program.names()}\nonly together: {differing[0][1]}\n{jaxpr(program)}"


def jaxpr(program):
    import jax
    from jax.interpreters import partial_eval

    closed = jax.make_jaxpr(program.run)(*program.arguments)
    lean, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    return str(lean)[:3000]


def show(seed):
    from random_program import generate

    program = generate(seed)
    print(program.names(), [f"{a.dtype}{a.shape}" for a in program.arguments])
    print(jaxpr(program))
    print(*judge(seed))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "shoal,cpu")
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.update(QUICK | os.environ)
    sys.exit(main())
