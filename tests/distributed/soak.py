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

from jobs import command, environment, finish, start

PROCESSES, DEVICES = 4, 2
JOB_SECONDS = 45
# Of a process after all its programs have run once: fragments of the heap, and what the caches of JAX still collect.
GROWTH = 1.15


def start_job(seed, seconds, threads, transport, directory):
    job = {"SHOAL_NUM_PROCESSES": PROCESSES, "SHOAL_JOB": directory.name, "TEST_DIRECTORY": str(directory)}
    if transport != "shm":
        job |= {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": transport}
    argv = command("random_collectives.py", seed, seconds, threads)
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
    os.kill(started[victim].pid, signal.SIGKILL)
    return victim, time.time()


def check_death(victim, moment, outcomes):
    for process, outcome in enumerate(outcomes):
        if process == victim:
            continue
        told = outcome.told.get(process)
        assert told and outcome.code == 0, f"process {process}, exit code {outcome.code}:\n{outcome.output[-4000:]}"
        # Who hears only that a survivor has ended hears why that one has.
        assert re.search(rf"process {victim}\b", told["error"]), told
        assert told["end"] - moment < 10, (told["end"] - moment, told)


def check_end(outcomes):
    for process, outcome in enumerate(outcomes):
        told = outcome.told.get(process)
        assert told and outcome.code == 0 and not told["error"], f"process {process}:\n{outcome.output[-4000:]}"
        level, last = told["memory"]
        assert last < level * GROWTH, f"process {process}: {level:.0f} MiB became {last:.0f}"
    return sum(o.told[p]["run"] for p, o in enumerate(outcomes))


def one_job(seed, transport, kill):
    choice = random.Random(seed)
    threads = choice.choice([1, 1, 2, 3])
    with tempfile.TemporaryDirectory(prefix="shoal-soak-") as name:
        directory = pathlib.Path(name)
        # Longer than it lives where one is killed.
        started = start_job(seed, 600 if kill else JOB_SECONDS, threads, transport, directory)
        try:
            victim, moment = end_one(started, directory, JOB_SECONDS, choice) if kill else (None, 0)
            outcomes = [finish(p, 90 if victim is not None else 600) for p in started]
        finally:
            for process in started:
                process.kill()
        if victim is not None:
            check_death(victim, moment, outcomes)
            return f"process {victim} killed, told after {max(o.told[p]['end'] for p, o in enumerate(outcomes) if p != victim) - moment:.2f} s"
        run = check_end(outcomes)
        memory = max(o.told[p]["memory"][1] for p, o in enumerate(outcomes))
        return f"{run} collectives, {threads} threads, {memory:.0f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transport", default="shm", choices=["shm", "mpi", "ucx"])
    arguments = parser.parse_args()
    end = time.time() + arguments.minutes * 60
    seed = arguments.seed
    while time.time() < end:
        print(f"{time.strftime('%H:%M:%S')} seed {seed}:", one_job(seed, arguments.transport, kill=seed % 3 != 0), flush=True)
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
