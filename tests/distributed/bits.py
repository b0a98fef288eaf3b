"""The same bits, whoever hosts the devices: sums that depend on their order, and a training run, on layouts of eight devices.

    python tests/distributed/bits.py [--steps 50]      # all layouts x transports x numbers of threads
"""

import argparse
import itertools

from jobs import command, mpirun

LAYOUTS = [(1, 8), (2, 4), (4, 2), (8, 1)]
TRANSPORTS = {"shm": {}, "mpi": {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": "mpi"}, "ucx": {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": "ucx"}}
THREADS = (1, 2, 4)


def digests(layout, transport="shm", threads=2, steps=20, deterministic=1):
    """By name of the result and device."""
    processes, devices = layout
    told = mpirun(processes, devices, command("same_bits.py", steps), SHOAL_DETERMINISTIC=deterministic, SHOAL_THREADS=threads,
                  **TRANSPORTS[transport]).all(processes)
    return {name: digest for part in told for name, digest in part.items()}


def differences(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    steps = parser.parse_args().steps
    first = digests(LAYOUTS[0], steps=steps)
    for layout, transport, threads in itertools.product(LAYOUTS, TRANSPORTS, THREADS):
        if layout[0] > 1 or transport == "shm":
            other = differences(first, digests(layout, transport, threads, steps))
            print(layout, transport, threads, "threads:", "the same" if not other else f"OTHER: {other[:6]}", flush=True)
    for layout in LAYOUTS:
        once, again = (digests(layout, steps=steps, deterministic=0) for _ in range(2))
        other = differences(once, again)
        print(layout, "twice, without the flag:", "the same" if not other else f"OTHER: {other[:6]}", flush=True)


if __name__ == "__main__":
    main()
