"""What share of the memory's speed an all-reduce between processes of one host reaches, beside MPI's own.

    .venv/bin/python tests/benchmarks/memory_share.py [--processes 4] [--mib 32]

An all-reduce must at least read every process's array and write every process's result: as many bytes as where every
process copies an array of that size. So the share is the time of such copies, all processes at once, over the
all-reduce's; both are measured in turn in one run, as the least of some repetitions.
"""
import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "distributed"))
from jobs import mpirun  # noqa: E402

REPEATS = 12


def worker(mib):
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    mesh = Mesh(np.array(jax.devices()), ("x",))
    row = np.arange(mib << 18, dtype=np.float32) % 97
    array = jax.make_array_from_callback((comm.size, row.size), NamedSharding(mesh, P("x", None)), lambda _: row[None])
    f = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=P("x", None), out_specs=P("x", None),
                              check_vma=False))
    assert np.array_equal(np.asarray(f(array).addressable_shards[0].data)[0], row * comm.size)
    source, target = row.copy(), np.zeros_like(row)
    actions = {
        "copy": lambda: np.copyto(target, source),
        "Shoal": lambda: jax.block_until_ready(f(array)),
        "MPI": lambda: comm.Allreduce(source, target),
    }
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(REPEATS):
        for name, action in actions.items():
            comm.Barrier()
            begin = time.perf_counter()
            action()
            best[name] = min(best[name], comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    if comm.rank == 0:
        print("FIGURES " + json.dumps(best), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--mib", type=int, default=32)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.mib)
    outcome = mpirun(arguments.processes, 1, [sys.executable, __file__, "--worker", "--mib", str(arguments.mib)], timeout=120)
    line = next((x for x in outcome.output.splitlines() if x.startswith("FIGURES ")), None)
    if line is None:
        sys.exit(outcome.output[-3000:])
    best = json.loads(line[8:])
    gigabytes = 2 * arguments.processes * arguments.mib * 2**20 * 1e-9
    print(f"{arguments.processes} processes, {arguments.mib} MiB each; a copy in each: {best['copy'] * 1e3:.2f} ms, "
          f"{gigabytes / best['copy']:.1f} GB/s")
    for name in ("Shoal", "MPI"):
        print(f"all-reduce, {name:6} {best[name] * 1e3:8.2f} ms, share {best['copy'] / best[name]:.2f}")


if __name__ == "__main__":
    main()
