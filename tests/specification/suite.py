"""StableHLO's own tests of meaning on Shoal: `python tests/specification/suite.py STABLEHLO_CHECKOUT [FILTER]`.

The checkout is https://github.com/openxla/stablehlo; its tests/interpret and testdata hold programs that check their own
results with operations of a dialect `check`. Each program becomes one that returns what is checked beside what is expected
(rewritten.py), runs through the plugin, and the two are compared here. Prints every miss and the counts.
"""

import argparse
import collections
import faulthandler
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from worker import Worker  # noqa: E402

# Programs that no client of PJRT can run, with the reason; with a number, that one of the file.
OUT_OF_REACH = {
    "interpret/collective_broadcast.mlir #8": "jaxlib 0.10.2 reads StableHLO 1.17, which has one operand",
    "interpret/collective_broadcast.mlir #9": "jaxlib 0.10.2 reads StableHLO 1.17, which has one operand",
    "interpret/collective_reduce.mlir #0": "jaxlib 0.10.2 reads StableHLO 1.17, which has no such operation",
    "interpret/send_recv.mlir #0": "processes that run different functions: no SPMD program",
    "interpret/send_recv.mlir #1": "processes that run different functions: no SPMD program",
    "interpret/constant.mlir #13": "f6 is of PJRT 0.114, jaxlib 0.10.2 is older and cannot hold it",
    "interpret/constant.mlir #14": "f6 is of PJRT 0.114, jaxlib 0.10.2 is older and cannot hold it",
    "interpret/infeed.mlir": "the queue is the interpreter's: another function of the module feeds it",
    "interpret/outfeed.mlir": "the queue is the interpreter's",
    "interpret/printing.mlir": "interpreter.print is the interpreter's own",
    "interpret/probe.mlir": "interpreter.probe is the interpreter's own",
    "interpret/api_input_arguments.mlir": "reads the interpreter's file of arguments",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--worker", type=int, metavar="FIRST", help="used by the script itself: from this program on")
    options = parser.parse_args()
    programs = list(all_programs(options.checkout / "stablehlo", options.filter))
    if options.worker is not None:
        return work(programs[options.worker:])
    counts = collections.Counter()
    for at, (verdict, detail) in enumerate(run(options, len(programs))):
        suite, name, number, _ = programs[at]
        counts[suite, verdict] += 1
        if verdict != "passed":
            print(f"{suite}/{name} #{number}: {verdict}: {detail}", flush=True)
    for (suite, verdict), n in sorted(counts.items()):
        print(f"{suite}: {n} {verdict}")
    return any(verdict == "failed" for _, verdict in counts)


def all_programs(root, pattern):
    for suite, folder in (("interpret", root / "tests/interpret"), ("testdata", root / "testdata")):
        for path in sorted(folder.glob("**/*.mlir")):
            name = str(path.relative_to(folder))
            for number, text in enumerate(path.read_text().split("// -----")):
                if pattern in f"{suite}/{name}" and "func.func" in text:
                    yield suite, name, number, text


def run(options, count):
    """The verdict of each program; a worker that dies is one of that program."""
    at = 0
    while at < count:
        command = [sys.executable, __file__, str(options.checkout), options.filter, "--worker", str(at)]
        env = dict(os.environ, JAX_ENABLE_X64="1", SHOAL_NUM_DEVICES="8", PYTHONUNBUFFERED="1")
        worker = Worker(command, env)
        for line in worker:
            yield json.loads(line)
            at += 1
        if at < count:
            yield "failed", "crashed: " + worker.errors[-500:]
            at += 1


def work(programs):
    faulthandler.enable()
    for suite, name, number, text in programs:
        reason = OUT_OF_REACH.get(f"{suite}/{name}") or OUT_OF_REACH.get(f"{suite}/{name} #{number}")
        print(json.dumps(("out of reach", reason) if reason else judge(name, text)))


def judge(name, text):
    from rewritten import NothingChecked, rewrite

    try:
        program = rewrite(text)
        values = execute(program)
    except NothingChecked as error:
        return "out of reach", str(error)
    except Exception as error:  # noqa: BLE001: whatever refuses it is the finding
        return "failed", f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"
    for check, got, want in values:
        wrong = disagreement(check, got, want)
        if wrong:
            return against_truth(name, text, wrong, got, want)
    return "passed", ""


def against_truth(name, text, wrong, got, want):
    """The verdict on a value that is not the expected one: the latter is jaxlib's, and may be the one that is farther off."""
    import jax.numpy as jnp
    from rewritten import inputs_alone
    from truths import errors

    inputs = inputs_alone(text)
    both = errors(name, [row[0] for row in compiled(inputs, 1, 1)([])], got, want) if inputs else None
    if both is None:
        return "failed", wrong
    ulp = float(jnp.finfo(got.dtype).eps)
    verdict = "right to an ulp, or nearer to the truth than what is expected" if both[0] <= max(ulp, both[1]) else "failed"
    return verdict, f"{wrong}; errors {both[0]:.2e}, of what is expected {both[1]:.2e}"


def execute(program):
    """[(check, value, expected)] of a rewritten program."""
    made = compiled(program.text, 1, 1)([]) if program.text else [[]]
    results = [row[0] for row in made] if program.text else []
    if program.parallel:
        grid, body, inputs = program.parallel
        operands, results = results[:len(inputs)], results[len(inputs):]
        per_process = len(inputs) // (grid[0] * grid[1])
        parts = [operands[p * per_process:(p + 1) * per_process] for p in range(grid[0] * grid[1])]
        outs = compiled(body, *grid)(list(zip(*parts)))
        flat = [row[p] for p in range(grid[0] * grid[1]) for row in outs]
        results = [flat[r] if isinstance(r, int) else results.pop(0) for r in program.sources]
    return [(check, results[2 * i], results[2 * i + 1]) for i, check in enumerate(program.checks)]


def compiled(text, replicas, partitions):
    """A function of [values of each argument by process] that gives the same of the results."""
    import jax
    from jax._src.lib import xla_client

    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = replicas, partitions
    options.executable_build_options.use_spmd_partitioning = partitions > 1
    devices = jax.devices()[:replicas * partitions]
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(len(devices)).reshape(replicas, partitions))
    devices_of = xla_client.DeviceList(tuple(devices))
    executable = devices[0].client.compile_and_load(text, devices_of, options)
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), ("p",)), jax.sharding.PartitionSpec())

    def call(arguments):
        arrays = [jax.make_array_from_single_device_arrays(
            parts[0].shape, sharding, [jax.device_put(x, d) for x, d in zip(parts, devices)]) for parts in arguments]
        outs = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
        return [[np.asarray(x) for x in parts] for parts in outs]

    return call


def disagreement(check, got, want):
    """What differs, in words; empty where nothing does. `check`: (kind, tolerance or None)."""
    import jax.numpy as jnp

    kind, tolerance = check
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if not (jnp.issubdtype(got.dtype, jnp.floating) or jnp.issubdtype(got.dtype, jnp.complexfloating)):
        differ = got != want
    else:
        wide = np.complex128 if jnp.issubdtype(got.dtype, jnp.complexfloating) else np.float64
        eps = float(jnp.finfo(got.dtype).eps)
        allowed = {"expect_almost_eq": tolerance or 1e-4, "expect_close": 3 * eps}.get(kind, 0)
        a, b = got.astype(wide), want.astype(wide)
        with np.errstate(all="ignore"):
            parts = [(a, b)] if wide is np.float64 else [(a.real, b.real), (a.imag, b.imag)]
            if kind == "expect_close":  # ulps, of which the smallest are those of normal numbers
                allowed = 3 * eps * np.maximum(np.abs(b), float(jnp.finfo(got.dtype).tiny))
            differ = sum(~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed)) for x, y in parts) > 0
    if not differ.any():
        return ""
    at = tuple(np.argwhere(differ)[0])
    where = tuple(map(int, at))
    return f"{kind}: {int(differ.sum())} of {differ.size} differ: {got[at]!r} instead of {want[at]!r} at {where}"


if __name__ == "__main__":
    sys.exit(main())
