"""Something goes wrong in one process; all others write what they are told to TEST_DIRECTORY/told.N, and end in order.

Arguments: what goes wrong (faults.py lists it), and in which process. When, and what pid that process has, is in
TEST_DIRECTORY/moment.
"""

from told import distributed

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

what, where = sys.argv[1], int(sys.argv[2])
directory = pathlib.Path(os.environ["TEST_DIRECTORY"])
# Longer than any fault takes to be noticed; who still waits then is killed from outside.
LAST = 300

distributed()
me = jax.process_index()
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("d",))


def ones(length):
    return jax.make_array_from_callback((n, length), NamedSharding(mesh, P("d")), lambda i: np.ones((n, length), np.float32)[i])


def jit(f):
    return jax.jit(f, out_shardings=NamedSharding(mesh, P()))


x, y = ones(1000), ones(900)
total = jit(lambda x: jnp.sum(x, axis=0))
largest = jit(lambda x: jnp.max(x * 2, axis=0))
for f, v in [(total, x), (largest, x), (total, y), (total, x)]:
    jax.block_until_ready(f(v))


def write(name, value):
    whole = directory / f".{name}.{me}"
    whole.write_text(json.dumps(value))
    whole.rename(directory / name)


def at_once():
    write("moment", {"time": time.time(), "pid": os.getpid()})


def later(seconds, command):
    subprocess.Popen(["sh", "-c", f"sleep {seconds}; {command}"], start_new_session=True, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)


def go_wrong():
    pid = os.getpid()
    if what == "kill":
        at_once()
        os.kill(pid, signal.SIGKILL)
    elif what == "quit":
        at_once()
        os._exit(0)
    elif what == "unread":  # dies when all have its message but one, which has not looked yet
        total(x)
        time.sleep(1)
        at_once()
        os._exit(0)
    elif what == "exit":
        at_once()
        sys.exit(0)
    elif what == "exception":
        at_once()
        raise ValueError("the data of step 7 is not there")
    elif what == "stop":  # for good; killed once the others must have noticed
        later(int(os.environ["SHOAL_TIMEOUT_S"]) + 20, f"kill -9 {pid}")
        at_once()
        os.kill(pid, signal.SIGSTOP)
    elif what == "slow":  # and so long that nothing may take silence for death
        later(12, f"kill -CONT {pid}")
        at_once()
        os.kill(pid, signal.SIGSTOP)
    elif what == "busy":
        at_once()
        time.sleep(int(os.environ["SHOAL_TIMEOUT_S"]) + 20)
    elif what == "other program":
        at_once()
        jax.block_until_ready(largest(x))
    elif what == "other order":
        at_once()
        jax.block_until_ready(largest(x))
        jax.block_until_ready(total(x))
    elif what == "other shape":
        at_once()
        jax.block_until_ready(total(y))


def go_on():
    for step in range(40 if what == "slow" else 100_000):
        jax.block_until_ready(total(x))
        if what == "other order":
            jax.block_until_ready(largest(x))
        if what == "link" and step == 3:
            write(f"ready.{me}", step)
        time.sleep(0.02)


def attempt(f):
    """How long it took, and the error."""
    start = time.time()
    try:
        f()
    except Exception as error:
        return time.time() - start, f"{type(error).__name__}: {error}"
    return time.time() - start, ""


signal.alarm(LAST)
# A message that its reader has not taken yet dies with its sender: only "unread" means that.
(directory / f"begun.{me}").touch()
while me == where and len(list(directory.glob("begun.*"))) < jax.process_count():
    time.sleep(0.01)
if what == "unread" and me == where + 1:
    later(3, f"kill -CONT {os.getpid()}")
    os.kill(os.getpid(), signal.SIGSTOP)
if me == where and what in ("kill", "quit", "unread", "exit", "exception", "stop", "busy"):
    go_wrong()
    sys.exit(0)
_, error = attempt(go_wrong if me == where and what.startswith("other") else go_on if me != where else lambda: (go_wrong(), go_on()))
noticed = time.time()
local = float(jax.jit(lambda v: v * 2)(jax.device_put(np.float32(21), jax.local_devices()[0])))
seconds_again, again = attempt(lambda: jax.block_until_ready(total(x)))
write(f"told.{me}", {"error": error, "noticed": noticed, "local": local, "again": again, "seconds_again": seconds_again})
