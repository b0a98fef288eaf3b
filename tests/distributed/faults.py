"""What goes wrong in a job, on every transport: who says what, after how long, and what is left behind.

    python tests/distributed/faults.py [--faults kill,stop] [--transports shm,ucx]      # the table
"""

import argparse
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

from hosts import Hosts, can_make_hosts
from jobs import MPIRUN, command, environment, free_port, start

FAULTS = ("kill", "quit", "unread", "exit", "exception", "stop", "busy", "other program", "other order", "other shape", "link", "slow")
# One host, or (the last two) two hosts of two processes.
TRANSPORTS = ("shm", "jax", "mpi", "ucx", "hosts mpi", "hosts ucx")
# Processes that are alive, but do not come, are an error after this long.
PATIENCE = 8
PROCESSES = 4
WHERE = 1
# Runs a process and writes its exit code down, as a shell says it: 128 + N for signal N. The file is whole as soon as it is there.
SHELL = ('"$@"; echo $? > $TEST_DIRECTORY/.code.$$; '
         'mv $TEST_DIRECTORY/.code.$$ $TEST_DIRECTORY/code.${OMPI_COMM_WORLD_RANK:-${SHOAL_PROCESS_ID:-$TEST_PROCESS}}')


@dataclasses.dataclass
class Told:
    process: int
    seconds: float  # from the fault to the error
    error: str
    again: str  # what the next collective says, and after how long
    seconds_again: float
    local: float
    code: int

    @property
    def first_line(self):
        return self.error.split("\n")[0]


@dataclasses.dataclass
class Outcome:
    told: list  # of those in which nothing went wrong; of a mismatch, all
    silent: list  # processes that should have told something
    left: list  # what is still there after the end: processes, files in /dev/shm
    output: str


def those_that_tell(fault, where):
    return [p for p in range(PROCESSES) if p != where or fault.startswith("other") or fault in ("link", "slow")]


def start_job(fault, transport, where, hosts, log, directory):
    argv = ["sh", "-c", SHELL, "sh", *command("fault.py", fault, where)]
    extra = {"TEST_DIRECTORY": str(directory), "SHOAL_TIMEOUT_S": PATIENCE if fault in ("stop", "busy") else 60}
    job = {"SHOAL_NUM_PROCESSES": PROCESSES, "SHOAL_JOB": directory.name}
    options = dict(stdout=log, stderr=log, start_new_session=True)
    if transport == "shm":
        return [start(argv, environment(1, SHOAL_PROCESS_ID=p, **job, **extra), **options) for p in range(PROCESSES)]
    if transport == "ucx":
        job |= {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": "ucx"}
        return [start(argv, environment(1, SHOAL_PROCESS_ID=p, **job, **extra), **options) for p in range(PROCESSES)]
    if transport == "jax":
        job = {"TEST_COORDINATOR": f"127.0.0.1:{free_port()}", "TEST_PROCESSES": PROCESSES}
        return [start(argv, environment(1, TEST_PROCESS=p, **job, **extra), **options) for p in range(PROCESSES)]
    if transport == "mpi":
        line = [*MPIRUN, "--enable-recovery", "-n", str(PROCESSES), *argv]
        return [start(line, environment(1, SHOAL_SHM=0, **extra), **options)]
    if transport == "hosts mpi":
        return [hosts.start_mpirun(PROCESSES // 2, 1, argv, ["--enable-recovery"], options, **extra)]
    # UCX would see that the hosts of this test are one machine.
    job |= {"SHOAL_COORDINATOR": "10.77.0.1:7177", "UCX_TLS": "tcp,self"}
    return [start(hosts.on(1 + p // 2, argv), environment(1, SHOAL_PROCESS_ID=p, **job, **extra), **options)
            for p in range(PROCESSES)]


def wait_for(paths, seconds):
    limit = time.time() + seconds
    while not all(path.exists() for path in paths):
        if time.time() > limit:
            return False
        time.sleep(0.02)
    return True


def processes_of(directory):
    """pid and command of the job's processes, but for launchers and what wakes or ends a stopped one later."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"TEST_DIRECTORY={directory}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def is_unused(directory):
    """Whoever uses it holds a lock on it."""
    with contextlib.suppress(OSError):
        file = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return directory.exists()
        finally:
            os.close(file)
    return False


def directories_of_mpi():
    return {directory for directory in pathlib.Path("/dev/shm").glob("shoal-mpi-*") if is_unused(directory)}


def left_behind(directory, hosts, gone, before):
    fault_py = {pid: line for pid, line in processes_of(directory).items() if "fault.py" in line and pid not in gone}
    left = [line for pid, line in fault_py.items() if not line.startswith(("mpirun", "sh -c", "ip netns", "orted"))]
    root = pathlib.Path("/dev/shm")
    left += [str(p) for p in root.rglob("*") if directory.name in p.name]
    networks = hosts.networks() if hosts else []
    return left + [str(p) for p in directories_of_mpi() - before if p.name.rpartition("-")[2] in networks]


def end(directory, started):
    for pid in processes_of(directory):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.wait()


def run(fault, transport, where=WHERE):
    """One cell of the table, or what happens where it goes wrong in another process."""
    several = transport.startswith("hosts")
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(2)) if several else None
        # A name that no other process of this machine has, which everything of this job carries.
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoal-fault-")))
        log = stack.enter_context(open(directory / "log", "w+"))
        before = directories_of_mpi()
        started = start_job(fault, transport, where, hosts, log, directory)
        try:
            return observe(fault, those_that_tell(fault, where), hosts, directory, before)
        finally:
            end(directory, started)


def observe(fault, telling, hosts, directory, before):
    if fault == "link":
        wait_for([directory / f"ready.{p}" for p in range(PROCESSES)], 120)
        hosts.cut(2)
        (directory / "moment").write_text(json.dumps({"time": time.time(), "pid": 0}))
    else:
        wait_for([directory / "moment"], 120)
    wait_for([directory / f"code.{p}" for p in telling], 90)
    moment = json.loads((directory / "moment").read_text()) if (directory / "moment").exists() else {"time": 0, "pid": 0}
    told, silent = [], []
    for p in telling:
        if not (directory / f"told.{p}").exists():
            silent.append(p)
            continue
        value = json.loads((directory / f"told.{p}").read_text())
        code = directory / f"code.{p}"
        told.append(Told(p, value.pop("noticed") - moment["time"], code=int(code.read_text()) if code.exists() else -1, **value))
    limit = time.time() + 10  # who has written its exit code down may have helpers that end just then
    while (left := left_behind(directory, hosts, {moment["pid"]}, before)) and time.time() < limit:
        time.sleep(0.1)
    return Outcome(told, silent, left, (directory / "log").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--transports", default=",".join(TRANSPORTS if can_make_hosts() else TRANSPORTS[:4]))
    parser.add_argument("--output", action="store_true", help="print what the processes have written, too")
    arguments = parser.parse_args()
    for fault in arguments.faults.split(","):
        for transport in arguments.transports.split(","):
            if fault == "link" and not transport.startswith("hosts"):
                continue
            outcome = run(fault, transport)
            longest = max((t.seconds for t in outcome.told), default=float("nan"))
            print(f"\n## {fault}, {transport}: {longest:.1f} s", flush=True)
            for t in outcome.told:
                print(f"process {t.process}, {t.seconds:.2f} s, code {t.code}, local {t.local}: {t.first_line}")
                print(f"    again, {t.seconds_again:.2f} s: {t.again.splitlines()[0] if t.again else 'good'}")
            if outcome.silent or outcome.left:
                print("SILENT", outcome.silent, "LEFT", outcome.left)
            if arguments.output or outcome.silent:
                print(outcome.output[-8000:])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
