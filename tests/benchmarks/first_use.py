"""Forty groups of devices in one program, and what the first use of each takes, beside jaxlib's CPU backend with Gloo.

    python tests/benchmarks/first_use.py [--processes 4] [--devices 2] [--groups 40]

Each group is a mesh of some of the devices, in an order of its own, whose owners sum over it; the programs are compiled
and all processes have met before. Prints the median and the longest of the first sums and of the second ones, of the slowest process. What is
installed is measured: scripts/quickstart.sh.
"""

import argparse
import subprocess
import sys

from both import JOIN, environments

PROGRAM = JOIN + """
import time
import numpy as np
random = np.random.default_rng(5)
first, second = [], []


def sum_over(devices):
    size = len(devices)
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    x = jax.make_array_from_callback((size, 3), jax.NamedSharding(mesh, jax.P("x")), lambda i: np.ones((1, 3), np.float32))
    total = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P()))
    return total.lower(x).compile(), x


everyone, ones = sum_over(jax.devices())
for group in range(int(os.environ["GROUPS_WANTED"])):
    size = int(random.integers(2, jax.device_count() + 1))
    devices = random.permutation(np.array(jax.devices()))[:size]
    mine = any(d.process_index == jax.process_index() for d in devices)
    compiled, x = sum_over(devices) if mine else (None, None)
    for times in (first, second):
        jax.block_until_ready(everyone(ones))
        if not mine:
            continue
        start = time.perf_counter()
        out = jax.block_until_ready(compiled(x))
        times.append(time.perf_counter() - start)
        assert np.asarray(out.addressable_shards[0].data)[0, 0] == size
print("MS", *(1e3 * f(t) for t in (first, second) for f in (np.median, np.max)), flush=True)
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--groups", type=int, default=40)
    options = parser.parse_args()
    print("         | first use: median, longest | second use: median, longest (ms)")
    for platform in ("cpu", "shoal"):
        a, b, c, d = run(platform, options)
        print(f"{'jaxlib' if platform == 'cpu' else platform:8} | {a:.2f}, {b:.2f} | {c:.2f}, {d:.2f}", flush=True)


def run(platform, options):
    job = environments(platform, options.processes, options.devices, GROUPS_WANTED=str(options.groups))
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True) for environment in job]
    said = []
    for process in started:
        out, err = process.communicate(timeout=300)
        if process.returncode != 0:
            for other in started:
                other.kill()
            print(f"{platform}: a process failed: {err.strip().splitlines()[-1][:300]}")
            return [float("nan")] * 4
        said.append([float(word) for word in out.split("MS")[1].split()])
    return [max(column) for column in zip(*said)]


if __name__ == "__main__":
    main()
