"""Collectives between two hosts over a limited link, beside what the wire needs for what the hosts must exchange.

    .venv/bin/python tests/benchmarks/between_hosts.py [--rate 1gbit] [--per-host 2] [--devices 2] [--mib 1 32]
                                                       [--only shoal-mpi shoal-ucx gloo mpi] [--kinds all-reduce ...]

The hosts are network namespaces (root). A plain socket measures the wire in the same run: so many bytes each way at once
as one host must send of the collective. Printed are milliseconds a collective and their ratio to the socket's:

    shoal-mpi   Shoal under mpirun        gloo   jaxlib's CPU backend with Gloo
    shoal-ucx   Shoal over UCX            mpi    MPI's own collectives, one rank a process (mpi4py)

Sizes are of what each device reduces, or has gathered; a figure is the mean of a loop, the best of three loops.
"""
import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "distributed"))
from hosts import Hosts  # noqa: E402
from jobs import environment, finish_all, start  # noqa: E402

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "permute")
LOOPS, LIMIT_S = 3, 240
PORT = 7321


def host_sends(kind, size, devices):
    """Bytes that each of two hosts of so many devices must send of a collective of `size` bytes."""
    if kind == "all-to-all":
        return size * devices // 2
    return size if kind in ("all-reduce", "permute") else size // 2


def repeats(mib):
    return 3 if mib >= 16 else 10


def best_loop(run, count):
    run()
    best = float("inf")
    for _ in range(LOOPS):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


# ---- what runs on the hosts; each prints a line of JSON


def receive_all(connection, count, memory):
    while count > 0:
        count -= connection.recv_into(memory, min(count, len(memory)))


def wire(role, sizes):
    """Both ends of a socket send and receive so many bytes at once."""
    if role == "server":
        with socket.create_server(("", PORT)) as server:
            connection = server.accept()[0]
    else:
        for _ in range(100):
            try:
                connection = socket.create_connection(("10.77.0.1", PORT))
                break
            except OSError:
                time.sleep(0.05)
    memory = bytearray(1 << 20)

    def both_ways(data):
        sender = threading.Thread(target=connection.sendall, args=(data,))
        sender.start()
        receive_all(connection, len(data), memory)
        sender.join()
    seconds = {}
    for size in sizes:
        data = bytes(size)
        seconds[size] = best_loop(lambda: both_ways(data), repeats(size >> 20))
    if role == "server":
        print("FIGURES " + json.dumps(seconds))


def jax_collectives(sizes_mib, kinds):
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    if "BENCH_COORDINATOR" in os.environ:
        if os.environ["JAX_PLATFORMS"] == "cpu":
            jax.config.update("jax_num_cpu_devices", int(os.environ["SHOAL_NUM_DEVICES"]))
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(os.environ["BENCH_COORDINATOR"], int(os.environ["BENCH_PROCESSES"]),
                                   int(os.environ["BENCH_PROCESS"]))
    devices = np.array(jax.devices())
    n = devices.size
    mesh = Mesh(devices, ("x",))
    operations = {
        "all-reduce": lambda v: jax.lax.psum(v, "x"),
        "all-gather": lambda v: jax.lax.all_gather(v[0, : v.shape[1] // n], "x", tiled=True)[None],
        "reduce-scatter": lambda v: jax.lax.psum_scatter(v[0], "x", tiled=True)[None],
        "all-to-all": lambda v: jax.lax.all_to_all(v.reshape(n, -1), "x", 0, 0).reshape(1, -1),
        "permute": lambda v: jax.lax.ppermute(v, "x", [(i, (i + 1) % n) for i in range(n)]),
    }
    seconds = {}
    for mib in sizes_mib:
        row = np.arange(mib << 18, dtype=np.float32) % 97
        full = np.tile(row, (n, 1))
        array = jax.make_array_from_callback(full.shape, NamedSharding(mesh, P("x", None)), lambda i: full[i])
        for kind in kinds:
            operation = operations[kind]
            f = jax.jit(jax.shard_map(operation, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None), check_vma=False))
            result = np.asarray(f(array).addressable_shards[0].data)[0]
            if kind == "all-reduce":
                assert np.array_equal(result, row * n)
            seconds[f"{kind} {mib}"] = best_loop(lambda: jax.block_until_ready(f(array)), repeats(mib))
    if jax.process_index() == 0:
        print("FIGURES " + json.dumps(seconds), flush=True)


def mpi_collectives(sizes_mib, kinds):
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    seconds = {}
    for mib in sizes_mib:
        count = mib << 18
        source, target = np.ones(count, np.float32), np.empty(count, np.float32)
        # As much as the devices of a process send.
        all_sent, all_received = (np.ones(count * int(os.environ["BENCH_DEVICES"]), np.float32) for _ in range(2))
        operations = {
            "all-reduce": lambda: comm.Allreduce(source, target),
            "all-gather": lambda: comm.Allgather(source[: count // comm.size], target),
            "reduce-scatter": lambda: comm.Reduce_scatter_block(source, target[: count // comm.size]),
            "all-to-all": lambda: comm.Alltoall(all_sent, all_received),
            "permute": lambda: comm.Sendrecv(source, (comm.rank + 1) % comm.size, recvbuf=target),
        }
        for kind in kinds:
            seconds[f"{kind} {mib}"] = best_loop(operations[kind], repeats(mib))
    if comm.rank == 0:
        print("FIGURES " + json.dumps(seconds), flush=True)


# ---- the driver


def figures(outcome):
    for line in outcome.output.splitlines():
        if "FIGURES " in line:
            return json.loads(line[line.index("FIGURES ") + 8 :])
    return {"failed": outcome.output[-1500:]}


def measure_wire(hosts, sizes):
    line = [sys.executable, __file__, "--wire"]
    sizes = list(map(str, sizes))
    ends = [start(hosts.on(host, [*line, role, *sizes]), dict(os.environ)) for host, role in [(1, "server"), (2, "client")]]
    return {int(size): s for size, s in figures(finish_all(ends, LIMIT_S)).items()}


def distributed(hosts, arguments, platform):
    started = []
    for p in range(2 * arguments.per_host):
        host = 1 + p // arguments.per_host
        env = environment(arguments.devices, BENCH_COORDINATOR=f"10.77.0.1:{PORT + 1}", BENCH_PROCESSES=2 * arguments.per_host,
                          BENCH_PROCESS=p, UCX_TLS="tcp,self", SHOAL_LOG=os.environ.get("SHOAL_LOG", "0"))
        env["JAX_PLATFORMS"] = platform
        # Gloo listens where the host's name says, which here is that of the machine.
        own_name = ["unshare", "--uts", "bash", "-c", f'hostname 10.77.0.{host}; exec "$@"', "bash"]
        started.append(start(hosts.on(host, [*own_name, *worker(arguments, "--jax")]), env))
    return figures(finish_all(started, LIMIT_S))


def sizes_and_kinds(words):
    return [int(w) for w in words if w not in KINDS], [w for w in words if w in KINDS]


def worker(arguments, kind):
    return [sys.executable, __file__, kind, *map(str, arguments.mib), *arguments.kinds]


def run(hosts, arguments, who):
    if who == "shoal-mpi":
        return figures(hosts.mpirun(arguments.per_host, arguments.devices, worker(arguments, "--jax"), timeout=LIMIT_S,
                                    SHOAL_LOG=os.environ.get("SHOAL_LOG", "0")))
    if who == "mpi":
        return figures(hosts.mpirun(arguments.per_host, 1, worker(arguments, "--mpi"), timeout=LIMIT_S,
                                    BENCH_DEVICES=arguments.devices))
    return distributed(hosts, arguments, "shoal" if who == "shoal-ucx" else "cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--per-host", type=int, default=2)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--mib", type=int, nargs="+", default=[1, 32])
    columns = ["shoal-mpi", "shoal-ucx", "gloo", "mpi"]
    parser.add_argument("--only", nargs="+", choices=columns, default=columns)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    with Hosts(2, arguments.rate) as hosts:
        sends = {(k, mib): host_sends(k, mib << 20, arguments.per_host * arguments.devices)
                 for k in arguments.kinds for mib in arguments.mib}
        needs = measure_wire(hosts, sorted(set(sends.values())))
        told = {who: run(hosts, arguments, who) for who in arguments.only}
    print(f"{2 * arguments.per_host} processes of {arguments.devices} devices on 2 hosts, {arguments.rate} each way")
    print(f"{'collective':24}{'wire':>12}" + "".join(f"{who:>22}" for who in arguments.only))
    for mib in arguments.mib:
        for kind in arguments.kinds:
            need = needs[sends[kind, mib]]
            cells = ""
            for who in arguments.only:
                s = told[who].get(f"{kind} {mib}")
                cells += f"{'failed':>22}" if s is None else f"{s * 1e3:12.2f} ms {s / need:6.2f}"
            print(f"{kind:16}{mib:4} MiB{need * 1e3:9.2f} ms{cells}")
    for who in arguments.only:
        if "failed" in told[who]:
            print(f"{who}: {told[who]['failed']}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--wire":
        wire(sys.argv[2], list(map(int, sys.argv[3:])))
    elif len(sys.argv) > 1 and sys.argv[1] == "--jax":
        jax_collectives(*sizes_and_kinds(sys.argv[2:]))
    elif len(sys.argv) > 1 and sys.argv[1] == "--mpi":
        mpi_collectives(*sizes_and_kinds(sys.argv[2:]))
    else:
        main()
