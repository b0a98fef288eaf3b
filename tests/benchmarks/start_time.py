"""How long a job takes from its start to the end of its first collective, beside jaxlib's CPU backend with Gloo.

    python tests/benchmarks/start_time.py [--processes 2 8 32] [--devices 1] [--rounds 2]

`whole` counts from the first process's start, Python's and JAX's loading among it; `joining` from the moment when every
process has loaded JAX: joining the job, making the client, compiling a sum over all devices and running it. The best of
the rounds, which alternate. What is installed is measured: scripts/quickstart.sh.
"""

import argparse
import subprocess
import sys
import time

from both import JOIN, environments

PROGRAM = """
import os, sys
import jax, numpy as np
print("READY", flush=True)
sys.stdin.readline()
""" + JOIN + """
n = jax.device_count()
mesh = jax.make_mesh((n,), ("x",))
x = jax.make_array_from_callback((n, 3), jax.NamedSharding(mesh, jax.P("x")), lambda i: np.ones((1, 3), np.float32))
total = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P()))(x)
assert np.asarray(total.addressable_shards[0].data)[0, 0] == n == int(os.environ["COUNT"]) * int(os.environ["DEVICES"])
print("DONE", flush=True)
sys.stdin.readline()
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    print("processes | whole: jaxlib, shoal, times faster | joining: jaxlib, shoal, times faster")
    for processes in options.processes:
        best = {}
        for _ in range(options.rounds):
            for platform in ("cpu", "shoal"):
                figures = run(platform, processes, options.devices)
                best[platform] = [min(a, b) for a, b in zip(figures, best.get(platform, figures))]
        columns = [f"{a:.2f} s, {b:.2f} s, {a / b:.2f}" for a, b in zip(best["cpu"], best["shoal"])]
        print(f"{processes:9} | {' | '.join(columns)}", flush=True)


def run(platform, processes, devices):
    """Seconds of the whole and of joining."""
    begin = time.monotonic()
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True) for environment in environments(platform, processes, devices, DEVICES=str(devices))]
    try:
        expect(started, "READY")
        loaded = time.monotonic()
        tell(started)
        expect(started, "DONE")
        end = time.monotonic()
        tell(started)
        for process in started:
            process.wait(60)
        return end - begin, end - loaded
    finally:
        for process in started:
            process.kill()


def tell(started):
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()


def expect(started, word):
    """Reads on until every process has said `word`: Gloo says things too."""
    for process in started:
        line = next((line for line in process.stdout if line.strip() == word), None)
        if line is None:
            sys.exit(f"a process ended without {word}, with exit code {process.wait()}")


if __name__ == "__main__":
    main()
