"""Whether a collective goes on while independent work does, and what combining small collectives saves.

    .venv/bin/python tests/benchmarks/overlap.py [--rate 1gbit] [--mib 8]

Two processes on two hosts, which are network namespaces (root), over a limited link. Printed are milliseconds of

    work, all-reduce    each alone: products of matrices, and a sum over the processes
    one after another   in one program, the sum of what the products gave
    side by side        in one program, independent of each other: with overlap the longer one of the two
    64 small sums       of 1 KiB each, that depend on each other, and that do not and so are combined

on Shoal and on jaxlib's CPU backend with Gloo, the best of some repetitions.
"""
import argparse
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "distributed"))
from hosts import Hosts  # noqa: E402
from jobs import environment, finish_all, start  # noqa: E402

REPEATS, SMALL = 10, 64
PORT = 7341


def worker(mib):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    if os.environ["JAX_PLATFORMS"] == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(os.environ["BENCH_COORDINATOR"], 2, int(os.environ["BENCH_PROCESS"]))
    mesh = Mesh(np.array(jax.devices()), ("x",))

    def put(*shape):
        rows = np.random.default_rng(1).standard_normal((1, *shape)).astype(np.float32) * 0.05
        return jax.make_array_from_callback((2, *shape), NamedSharding(mesh, P("x")), lambda _: rows)

    def program(f):
        return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))

    def work(m):
        for _ in range(24):
            m = jnp.tanh(m @ m)
        return m

    def total(v):
        return jax.lax.psum(v, "x")

    def dependent(v):
        for _ in range(SMALL):
            v = jnp.sin(total(v))
        return v

    matrix, vector, small = put(768, 768), put(mib << 18), put(SMALL, 256)
    programs = {
        "work": (program(lambda m, v: work(m[0])[None]), (matrix, vector)),
        "all-reduce": (program(lambda m, v: total(v)), (matrix, vector)),
        "one after another": (program(lambda m, v: total(v + work(m[0])[0, 0])), (matrix, vector)),
        "side by side": (program(lambda m, v: (work(m[0])[None], total(v))), (matrix, vector)),
        f"{SMALL} small sums in turn": (program(dependent), (put(256),)),
        f"{SMALL} small sums at once": (program(lambda s: jnp.stack([total(s[0, i]) for i in range(SMALL)])[None]), (small,)),
    }
    best = {}
    for name, (f, arguments) in programs.items():
        jax.block_until_ready(f(*arguments))
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            jax.block_until_ready(f(*arguments))
            times.append(time.perf_counter() - begin)
        best[name] = min(times)
    if jax.process_index() == 0:
        print("FIGURES " + json.dumps(best), flush=True)


def run(hosts, platform, mib):
    started = []
    for p in range(2):
        env = environment(1, BENCH_COORDINATOR=f"10.77.0.1:{PORT}", BENCH_PROCESS=p, UCX_TLS="tcp,self")
        env["JAX_PLATFORMS"] = platform
        # Gloo listens where the host's name says, which here is that of the machine.
        own_name = ["unshare", "--uts", "bash", "-c", f'hostname 10.77.0.{p + 1}; exec "$@"', "bash"]
        line = [*own_name, sys.executable, __file__, "--worker", "--mib", str(mib)]
        started.append(start(hosts.on(p + 1, line), env))
    outcome = finish_all(started, 200)
    line = next((x for x in outcome.output.splitlines() if x.startswith("FIGURES ")), None)
    if line is None:
        sys.exit(f"{platform}: {outcome.output[-3000:]}")
    return json.loads(line[8:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--mib", type=int, default=8)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.mib)
    with Hosts(2, arguments.rate) as hosts:
        shoal, jaxlib = (run(hosts, platform, arguments.mib) for platform in ("shoal", "cpu"))
    print(f"{'':28}{'Shoal':>12}{'jaxlib':>12}")
    for name in shoal:
        print(f"{name:28}{shoal[name] * 1e3:9.2f} ms{jaxlib[name] * 1e3:9.2f} ms")
    for platform, best in (("Shoal", shoal), ("jaxlib", jaxlib)):
        saved = best["one after another"] - best["side by side"]
        print(f"{platform}: side by side saves {saved / min(best['work'], best['all-reduce']):.0%} of the shorter of the two")


if __name__ == "__main__":
    main()
