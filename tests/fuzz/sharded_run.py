"""Runs random sharded programs (sharded_programs.py) with Shoal, and the same programs on one device of jaxlib's.

    sharded_run.py [--first 0] [--count 500] [--jobs 2] [--oracle cpu] [--show SEED] [--shrink SEED]

A process runs many seeds; one that dies is told by its seed, and the rest go on in a new one. Ends with the seeds that
failed, each with its first line; --shrink prints the smallest program that still fails in the same way. jaxlib takes
most of the time: with --oracle shoal one device of Shoal is asked first, and jaxlib only where that disagrees.
"""

import argparse
import copy
import dataclasses
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from worker import Worker  # noqa: E402

TOLERANCE = {"float64": 1e-7, "float32": 3e-4, "complex64": 3e-4, "complex128": 1e-7}
SECONDS_A_PROGRAM = 300
ORACLE = os.environ.get("SHARDED_ORACLE", "cpu")


def environment():
    """Shoal with eight devices; jaxlib's cpu beside it, as the oracle."""
    return os.environ | {"JAX_PLATFORMS": "shoal,cpu", "SHOAL_NUM_DEVICES": "8", "JAX_ENABLE_X64": "1", "XLA_FLAGS": "--xla_backend_optimization_level=0",
                         "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}


def function_of(program, C, M):
    import jax
    import jax.numpy as jnp

    from sharded_programs import environment

    scope = environment(C, M)
    exec(program.function_text(), scope)
    function = scope["program"]
    if not program.gradient:
        return function
    numbers = tuple(i for i, (name, *_) in enumerate(program.arguments) if name in program.gradient)

    def loss(*args):
        results = function(*args)
        return sum(jnp.sin(r).mean() if jnp.issubdtype(r.dtype, jnp.floating) and r.size else 0.0 for r in results), results

    def with_gradient(*args):
        (_, results), gradients = jax.value_and_grad(loss, numbers, has_aux=True)(*args)
        return *results, *gradients

    return with_gradient


def expected(program, platform):
    """What one device says."""
    import jax
    import numpy as np

    from sharded_programs import MANUAL, plain_constraint

    M = lambda kind, x, dim, axis: MANUAL[kind][0](x, dim, program.mesh[axis])
    with jax.default_device(jax.devices(platform)[0]):
        return [np.asarray(x) for x in jax.jit(function_of(program, plain_constraint, M))(*program.values())]


def computed(program):
    """What Shoal's mesh says."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    from sharded_programs import manual

    devices = np.array(jax.devices("shoal"))[program.order].reshape(list(program.mesh.values()))
    mesh = Mesh(devices, tuple(program.mesh), axis_types=(AxisType.Auto,) * len(program.mesh))
    sharding = lambda spec: NamedSharding(mesh, P(*spec))
    C = lambda x, *spec: jax.lax.with_sharding_constraint(x, sharding(spec))
    args = [jax.device_put(x, sharding(spec)) for x, (*_, spec) in zip(program.values(), program.arguments)]
    out = None
    if program.result_specs is not None:
        out = tuple(map(sharding, program.result_specs)) + (None,) * len(program.gradient)
    function = function_of(program, C, manual(mesh))
    results = jax.jit(function, out_shardings=out)(*args)
    for result, wanted in zip(results, out or ()):
        if wanted is not None and not result.sharding.is_equivalent_to(wanted, result.ndim):
            raise AssertionError(f"out_shardings: {result.sharding} instead of {wanted}")
    return [np.asarray(x) for x in results]


def difference(got, want):
    """One line, or None."""
    import numpy as np

    for number, (a, b) in enumerate(zip(got, want, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {number}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        tolerance = TOLERANCE.get(b.dtype.name, 0)
        scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0))) if tolerance else 1
        wrong = ~np.isclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return f"result {number}: {wrong.sum()} of {wrong.size} differ, the first at {at}: {a[at]} instead of {b[at]}"
    return None


def judge(program):
    """Nothing if all is well, else one line. "oracle: ..." where jaxlib refuses the program."""
    try:
        if ORACLE == "shoal" and difference(computed(program), expected(program, "shoal")) is None:
            return None
    except Exception:  # noqa: BLE001: the same again below
        pass
    try:
        want = expected(program, "cpu")
    except Exception as error:  # noqa: BLE001
        return f"oracle: {first_line(error)}"
    try:
        return difference(computed(program), want)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {first_line(error)}"


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


# --- Shrinking ---

def kind_of(verdict):
    """What must stay the same while a program shrinks."""
    return re.sub(r"[\d.e+-]+", "#", verdict or "")[:40].split(":")[0]


def needed(program):
    """Without the statements and arguments that no result depends on."""
    less = copy.deepcopy(program)
    wanted = set(less.results)
    for name, text in reversed(program.statements):
        if name in wanted:
            wanted |= set(re.findall(r"\bv\d+\b", text))
        else:
            less.statements.remove((name, text))
    less.arguments = [argument for argument in less.arguments if argument[0] in wanted]
    less.gradient = [name for name in less.gradient if name in wanted]
    return less


def smaller(program):
    """Programs with something less, the large steps first."""
    if len(program.results) > 1:
        for keep in range(len(program.results)):
            yield with_results(program, [keep])
        for drop in range(len(program.results)):
            yield with_results(program, [i for i in range(len(program.results)) if i != drop])
    for change in ({"gradient": []}, {"result_specs": None}, {"order": sorted(program.order)}):
        if any(getattr(program, field) != value for field, value in change.items()):
            yield dataclasses.replace(copy.deepcopy(program), **change)
    yield from with_a_simpler_statement(program)
    for i, (name, shape, dtype, spec) in enumerate(program.arguments):
        if any(spec):
            less = copy.deepcopy(program)
            less.arguments[i] = (name, shape, dtype, (None,) * len(shape))
            yield less


def with_results(program, keep):
    less = copy.deepcopy(program)
    less.results = [program.results[i] for i in keep]
    less.result_specs = program.result_specs and [program.result_specs[i] for i in keep]
    return needed(less)


def with_a_simpler_statement(program):
    import jax

    from sharded_programs import shape_of

    shapes = {n: jax.ShapeDtypeStruct(s, d) for n, s, d, _ in program.arguments}
    for i, (name, text) in enumerate(program.statements):
        shape = shape_of(text, name, shapes, program.mesh)
        texts = [f"{name} = {n}" for n in shapes if shapes[n] == shape][-2:] + [f"{name} = jnp.ones({shape.shape}, '{shape.dtype}')"]
        shapes[name] = shape
        head, _, last = text.rpartition("\n")
        if head and last.startswith(f"{name} = C("):
            texts.append(head)
        elif "\n" not in text and (text in texts or text.startswith(f"{name} = jnp.ones")):
            continue
        for simpler in texts:
            less = copy.deepcopy(program)
            less.statements[i] = (name, simpler)
            yield needed(less)


def shrink(program):
    verdict = judge(program)
    if not verdict or verdict.startswith("oracle"):
        print(program.text(), verdict)
        return
    going = True
    while going:
        going = False
        for less in smaller(program):
            says = judge(less)
            if says and kind_of(says) == kind_of(verdict):
                program, verdict, going = less, says, True
                print(f"{len(program.statements)} statements: {verdict}", file=sys.stderr)
                break
    print(program.text())
    print(verdict)


# --- Many seeds ---

def child(first, count):
    from sharded_programs import generate

    for seed in range(first, first + count):
        print(f"begin {seed}", flush=True)
        print(f"end {seed} {judge(generate(seed)) or 'ok'}", flush=True)


def run(first, count):
    """What is said of each seed, by processes that may die."""
    verdicts, seed, last = {}, first, first + count
    while seed < last:
        command = [sys.executable, __file__, "--child", "--first", str(seed), "--count", str(last - seed)]
        begun, worker = seed - 1, Worker(command, environment(), SECONDS_A_PROGRAM)
        for line in worker:
            word, number, *rest = [*line.split(" ", 2), ""]
            if word == "begin":
                begun = int(number)
            elif word == "end":
                verdicts[int(number)] = None if rest[0] == "ok" else rest[0]
        died = f"died ({worker.code}): {' '.join(worker.errors.split())[-300:]}"
        if begun < seed and worker.code:
            raise RuntimeError(died)
        if begun not in verdicts:
            verdicts[begun] = f"no end in {SECONDS_A_PROGRAM} s" if worker.stuck else died
        seed = begun + 1
    return verdicts


def run_all(first, count, jobs, chunk=50):
    from concurrent.futures import ThreadPoolExecutor

    starts = range(first, first + count, chunk)
    with ThreadPoolExecutor(jobs) as pool:
        for verdicts in pool.map(lambda s: run(s, min(chunk, first + count - s)), starts):
            yield verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--oracle", choices=["cpu", "shoal"], default="cpu")
    parser.add_argument("--show", type=int)
    parser.add_argument("--shrink", type=int)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    os.environ.setdefault("SHARDED_ORACLE", a.oracle)
    if a.shrink is not None:
        os.environ["SHARDED_ORACLE"] = "shoal"  # quick where a smaller program is right
    if a.child:
        return child(a.first, a.count)
    if a.show is not None or a.shrink is not None:
        if os.environ.get("JAX_PLATFORMS") != "shoal,cpu":
            os.execve(sys.executable, [sys.executable, *sys.argv], environment())
        from sharded_programs import generate

        return print(generate(a.show).text()) if a.show is not None else shrink(generate(a.shrink))
    begun, total, failed, refused = time.time(), 0, {}, 0
    for verdicts in run_all(a.first, a.count, a.jobs):
        total += len(verdicts)
        refused += sum(v is not None and v.startswith("oracle") for v in verdicts.values())
        for seed, verdict in verdicts.items():
            if verdict and not verdict.startswith("oracle"):
                failed[seed] = verdict
                print(f"seed {seed}: {verdict}", flush=True)
    print(f"{total} programs, {len(failed)} wrong, {refused} that jaxlib refuses, {time.time() - begun:.0f} s")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
