"""Prints a Markdown table of the client programs: wall and compile seconds on four devices of one process, on two processes of
two, and beside them those of JAX's own CPU backend with four devices. Arguments name programs; without any, all.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "distributed")]

from clients_test import NAMES, PROGRAMS, missing  # noqa: E402
from jobs import environment, finish, mpirun, start  # noqa: E402

PEER = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}


def seconds(outcome):
    """The slowest process' wall and compile seconds, or what went wrong."""
    if outcome.code or not outcome.told:
        lines = [
            line for told in outcome.told.values() for line in told["off"]
        ] or outcome.output.strip().splitlines()[-1:]
        return " ".join(["failed:", *lines])[:200].replace("|", "/")
    return " / ".join(
        f"{max(told[key] for told in outcome.told.values()):.1f}" for key in ("wall", "compile")
    )


def main():
    print("| program | 1 x 4: wall / compile s | 2 x 2 | jaxlib, 1 x 4 |\n|---|---|---|---|")
    failed = 0
    for name in sys.argv[1:] or NAMES:
        argv = [sys.executable, str(PROGRAMS / f"{name}.py")]
        if missing(pathlib.Path(argv[1])):
            print(f"| {name} | not installed: {', '.join(missing(pathlib.Path(argv[1])))} | | |")
            continue
        one, two = finish(start(argv, environment(4)), 900), mpirun(2, 2, argv, timeout=900)
        peer = finish(start(argv, environment(4, **PEER)), 900)
        print(f"| {name} | {seconds(one)} | {seconds(two)} | {seconds(peer)} |", flush=True)
        failed += bool(one.code or two.code)
    sys.exit(failed)


if __name__ == "__main__":
    main()
