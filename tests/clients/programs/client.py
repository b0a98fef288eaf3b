"""What client programs share. Import first: it says what the process runs on, and times it.

A program is a function that returns {name: (got, wanted, tolerance)}, where `wanted` comes from elsewhere than JAX. It
runs on whatever mesh there is: one device or many, one process or several under mpirun, Shoal or JAX's own CPU backend.
"""

import json
import sys
import time

import numpy as np
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

_compile_seconds = 0.0


def _listen(event, seconds, **_):
    global _compile_seconds
    if event == "/jax/core/compile/backend_compile_duration":
        _compile_seconds += seconds


def mesh(*names):
    """All devices of the job: one axis, or two of which the second has two where their number is even."""
    devices = np.array(jax.devices())
    names = names or ("data",)
    if len(names) == 2:
        devices = devices.reshape(-1, 2 if devices.size % 2 == 0 else 1)
    return Mesh(devices, names)


def shard(value, *axes, on=None):
    """`value`, which every process has whole, laid out over the mesh."""
    value = np.asarray(value)
    sharding = NamedSharding(on or mesh(), PartitionSpec(*axes))
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


def whole(array):
    """The whole array on every process, as NumPy's."""
    if not isinstance(array, jax.Array) or array.is_fully_addressable:
        return np.asarray(array)
    everywhere = NamedSharding(array.sharding.mesh, PartitionSpec())
    return np.asarray(jax.jit(lambda x: x, out_shardings=everywhere)(array))


def difference(got, wanted, tolerance):
    """In words, or None where all is within the tolerance. NaN never is."""
    if got.shape != wanted.shape:
        return f"shape {got.shape}, and it should be {wanted.shape}"
    off = ~(np.abs(got - wanted) <= tolerance)
    if not off.any():
        return None
    first = tuple(int(i) for i in np.argwhere(off)[0])
    return f"{off.sum()} of {off.size} numbers, the first at {first}: {got[first]}, and it should be {wanted[first]}"


def run(program):
    """Runs it, tells the seconds and the comparisons, and ends with an error where one is off."""
    jax.monitoring.register_event_duration_secs_listener(_listen)
    start = time.monotonic()
    results = program()
    told = {
        "wall": time.monotonic() - start,
        "compile": _compile_seconds,
        "devices": jax.device_count(),
        "off": [],
    }
    for name, (got, wanted, tolerance) in results.items():
        got, wanted = np.asarray(whole(got)) + 0, np.asarray(wanted) + 0  # bool to int
        if wrong := difference(got, wanted, tolerance):
            told["off"].append(f"{name}: {wrong}")
    sys.stdout.write("TOLD " + json.dumps({"process": jax.process_index(), "value": told}) + "\n")
    sys.stdout.flush()
    sys.exit(bool(told["off"]) or not results)
