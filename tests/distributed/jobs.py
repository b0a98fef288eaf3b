"""Starts jobs of several real processes, in each of the ways in which users do, and collects what each process says.

A program under programs/ calls tell(value) (programs/told.py); run() returns what each process told, by number.
"""

import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
# Variables of a job that the tests themselves may run in.
FOREIGN = ("SHOAL_", "JAX_", "XLA_", "OMPI_", "PMIX_", "PMI_", "SLURM_")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.getuid() == 0 else [])]


@dataclasses.dataclass
class Outcome:
    code: int
    output: str
    told: dict  # by process number

    def all(self, count):
        """What each of `count` processes told; fails with the output where one is missing."""
        assert self.code == 0 and sorted(self.told) == list(range(count)), f"exit code {self.code}\n{self.output[-6000:]}"
        return [self.told[p] for p in range(count)]


def environment(devices, **extra):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    clean.update(JAX_PLATFORMS="shoal", SHOAL_NUM_DEVICES=str(devices), SHOAL_TIMEOUT_S="60")
    clean.update({k: str(v) for k, v in extra.items()})
    return clean


def command(program, *arguments):
    return [sys.executable, str(PROGRAMS / program), *map(str, arguments)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def finish(process, timeout):
    """The outcome of a started process whose output goes to a pipe."""
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        output += f"\nno end within {timeout} s"
    told = {}
    for line in output.splitlines():
        if "TOLD " in line:
            entry = json.loads(line[line.index("TOLD ") + 5 :])
            told[entry["process"]] = entry["value"]
    return Outcome(process.returncode, output, told)


def finish_all(processes, timeout):
    """The outcome of a job whose processes were started one by one."""
    outcomes = [finish(p, timeout) for p in processes]
    told = {process: value for outcome in outcomes for process, value in outcome.told.items()}
    return Outcome(next((o.code for o in outcomes if o.code), 0), "\n".join(o.output for o in outcomes), told)


def start(argv, env, **options):
    return subprocess.Popen(argv, env=env, text=True, **({"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options))


def mpirun(processes, devices, argv, timeout=600, **extra):
    return finish(start([*MPIRUN, "-n", str(processes), *argv], environment(devices, **extra)), timeout)


def shoalrun(launcher, processes, devices, argv, timeout=600, **extra):
    return finish(start([launcher, "-n", str(processes), *argv], environment(devices, **extra)), timeout)


def jax_distributed(processes, devices, argv, timeout=600, **extra):
    """Processes that nobody launches: each calls jax.distributed.initialize itself (programs/told.py)."""
    coordinator = f"127.0.0.1:{free_port()}"
    started = [start(argv, environment(devices, TEST_COORDINATOR=coordinator, TEST_PROCESSES=processes, TEST_PROCESS=p, **extra))
               for p in range(processes)]
    return finish_all(started, timeout)
