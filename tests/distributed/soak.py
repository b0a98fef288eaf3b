"""Random collectives for as long as you like: a job of 4 processes of 2 devices, in which one process is killed and which is
then started anew, again and again. Ends with an error where a value is wrong, somebody hangs or says nothing, or memory grows.

    python tests/distributed/soak.py [--minutes 60] [--seed 1] [--transport shm|mpi|ucx]
"""

import argparse
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

from faults import SHELL, end
from jobs import MPIRUN, command, environment, finish_all, start

PROCESSES, DEVICES = 4, 2
JOB_SECONDS = 45
# Of a process after all its programs have run once: fragments of the heap, and what the caches of JAX still collect.
GROWTH = 1.15


def start_job(seed, seconds, threads, transport, directory):
    argv = ["sh", "-c", SHELL, "sh", *command("random_collectives.py", seed, seconds, threads)]
    job = {"TEST_DIRECTORY": str(directory)}
    if transport == "mpi":
        return [start([*MPIRUN, "--enable-recovery", "-n", str(PROCESSES), *argv], environment(DEVICES, SHOAL_SHM=0, **job))]
    job |= {"SHOAL_NUM_PROCESSES": PROCESSES, "SHOAL_JOB": directory.name}
    if transport == "ucx":
        job |= {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": "ucx"}
    return [start(argv, environment(DEVICES, SHOAL_PROCESS_ID=p, **job)) for p in range(PROCESSES)]


def end_one(started, directory, seconds, choice):
    """Kills a process some time after the job has got going; its number, and when."""
    limit = time.time() + 240
    while time.time() < limit and len(list(directory.glob("running.*"))) < PROCESSES:
        if any(p.poll() is not None for p in started):
            return None, time.time()
        time.sleep(0.05)
    time.sleep(choice.random() * seconds)
    victim = choice.randrange(PROCESSES)
    os.kill(int((directory / f"pid.{victim}").read_text()), signal.SIGKILL)
    return victim, time.time()


def told_by(process, outcome, directory):
    """What a process that was not killed has told, and that it has ended well."""
    told, code = outcome.told.get(process), directory / f"code.{process}"
    assert told and code.exists() and int(code.read_text()) == 0, f"process {process}:\n{outcome.output[-6000:]}"
    return told


def check_death(victim, moment, told):
    for survivor in told:
        # Who hears only that a survivor has ended hears why that one has.
        assert re.search(rf"process {victim}\b", survivor["error"]), survivor
        assert survivor["end"] - moment < 10, (survivor["end"] - moment, survivor)
    return f"process {victim} killed, told after {max(t['end'] for t in told) - moment:.2f} s"


def check_end(threads, told):
    for process, of_process in enumerate(told):
        assert not of_process["error"], (process, of_process)
        level, last = of_process["memory"]
        assert last < level * GROWTH, f"process {process}: {level:.0f} MiB became {last:.0f}"
    memory = max(t["memory"][1] for t in told)
    return f"{sum(t['run'] for t in told)} collectives, {threads} threads, {memory:.0f} MiB"


def one_job(seed, transport, kill):
    choice = random.Random(seed)
    threads = choice.choice([1, 1, 2, 3])
    with tempfile.TemporaryDirectory(prefix="shoal-soak-") as name:
        directory = pathlib.Path(name)
        # Longer than it lives where one is killed.
        started = start_job(seed, 600 if kill else JOB_SECONDS, threads, transport, directory)
        try:
            victim, moment = end_one(started, directory, JOB_SECONDS, choice) if kill else (None, 0)
            outcome = finish_all(started, 90 if victim is not None else 600)
        finally:
            end(directory, started)
        told = [told_by(p, outcome, directory) for p in range(PROCESSES) if p != victim]
        return check_end(threads, told) if victim is None else check_death(victim, moment, told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transport", default="shm", choices=["shm", "mpi", "ucx"])
    arguments = parser.parse_args()
    limit = time.time() + arguments.minutes * 60
    seed = arguments.seed
    while time.time() < limit:
        print(f"{time.strftime('%H:%M:%S')} seed {seed}:", one_job(seed, arguments.transport, kill=seed % 3 != 0), flush=True)
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
