"""Shoal as a JAX plugin: the CPUs of a machine or of a cluster as one device mesh.

JAX calls `initialize` once, before it makes its first backend, through the entry point group `jax_plugins`. Nothing is
loaded unless Shoal is asked for:

* `JAX_PLATFORMS=shoal`: the names shoal and cpu both stand for Shoal, and for one client: much code asks for the
  backend named cpu, JAX's own callbacks among it.
* `JAX_PLATFORMS=shoal,cpu`: cpu is JAX's own backend.
* `SHOAL_AS_CPU=1`: Shoal takes the place of JAX's cpu, whatever JAX_PLATFORMS says.
"""

import atexit
import ctypes
import functools
import itertools
import os
import pathlib
import re
import socket
import sys

from shoal import cluster as cluster
from shoal.traffic import report as report

__version__ = "0.1.0"

LIBRARY = pathlib.Path(__file__).with_name("libshoal_pjrt.so")
_PLATFORM = "shoal"
# JAX's own cpu has 0; only orders platforms where JAX_PLATFORMS names none.
_PRIORITY = 10
# As long as JAX waits for processes that join.
_MEET_WITHIN_MS = 300_000
# How long the process that has JAX's coordination service lets the others end before it, once one has died or hangs.
_LEADER_STAYS_S = 10


def initialize() -> None:
    """Registers the platform with JAX, if it is asked for."""
    named = _platforms_named()
    as_cpu = os.environ.get("SHOAL_AS_CPU", "") not in ("", "0")  # what is neither is an error of the client's
    if _PLATFORM not in named and not as_cpu:
        return
    names = []
    if _PLATFORM in named or not named:
        names.append(_PLATFORM)
    if as_cpu or "cpu" not in named:
        names.append("cpu")
    _register(names)


def _register(names: list[str]) -> None:
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    from shoal import dlpack, ffi, lowerings, partitioning

    if not LIBRARY.exists():
        raise FileNotFoundError(f"{LIBRARY} is not there: install Shoal with `pip install .`")
    c_api = xla_client.load_pjrt_plugin_dynamically(_PLATFORM, str(LIBRARY))
    lowerings.register()
    dlpack.register(lambda device: device.client is _made)
    ffi.register_with_jax(LIBRARY)
    partitioning.register_with_jax(c_api)
    make_topology = functools.partial(xla_client.make_c_api_device_topology, c_api)
    for name in names:
        xla_bridge.register_backend_factory(
            name, _client, priority=_PRIORITY, fail_quietly=False, make_topology=make_topology, c_api=c_api
        )


_made = None  # the client, while JAX holds it
_maker = None  # the process that has made it


def _client():
    """The one client of this process, under whichever name JAX asks for it."""
    global _made, _maker
    from jax._src import xla_bridge

    # Where JAX has dropped its backends it wants a new client, with the options of now.
    if _made is None or not any(backend is _made for backend in xla_bridge._backends.values()):
        _made, _maker = _make_client(), os.getpid()
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)
    if "cpu" not in _platforms_named():
        # JAX makes only the platforms that JAX_PLATFORMS names, and is inside `backends()` now. To add the name to the
        # setting instead would change a setting of the user's, which is in the key of every jitted function's cache.
        xla_bridge._backends["cpu"] = _made
    return _made


_counted = itertools.count()  # of clients made after jax.distributed.initialize(); alike in all processes


def _make_client():
    """JAX's own way to make a client, kept from handing jaxlib the coordination client of `jax.distributed`.

    jaxlib would watch it from a thread for as long as the client lives: at exit, when JAX has stopped the coordinator, it
    retries and warns for seconds. Shoal watches its processes itself, and only wants the numbers and a place to meet.
    """
    from jax._src import distributed, xla_bridge

    options = _client_options()
    state = distributed.global_state
    if state.client is None:
        return xla_bridge.make_pjrt_c_api_client(_PLATFORM, options=options)
    coordination = state.client
    place = _meeting_place(coordination, state, f"shoal/coordinator/{next(_counted)}")
    options |= {"node_id": state.process_id, "num_nodes": state.num_processes, "coordinator": place}
    state.client = None
    try:
        return xla_bridge.make_pjrt_c_api_client(_PLATFORM, options=options)
    finally:
        state.client = coordination


def _meeting_place(coordination, state, key: str) -> str:
    """HOST:PORT of a port that was free on process 0's host, which is the host of JAX's coordinator."""
    if state.process_id == 0:
        with socket.create_server(("", 0)) as free:
            port = free.getsockname()[1]
        host = state.coordinator_address.rpartition(":")[0]
        coordination.key_value_set(key, f"{host}:{port}")
    return coordination.blocking_key_value_get(key, _MEET_WITHIN_MS)


def _platforms_named() -> list[str]:
    import jax

    return [name for name in (jax.config.jax_platforms or "").split(",") if name]


def _at_exit() -> None:
    if _made is None:
        return
    if os.getpid() != _maker:
        _forget_job()
    elif len({device.process_index for device in _made.devices()}) > 1:
        _leave_job()
    else:
        _keep_client()


def _leave_job() -> None:
    """Tells the other processes that nothing more comes from this one, before JAX waits for them at its own end.

    Where one has died or hangs, JAX shall not wait: it would do so for minutes, and abort then. The process that
    has JAX's coordination service leaves last, because JAX aborts all others when it goes.
    """
    from jax._src import distributed

    state = distributed.global_state
    error = getattr(sys, "last_value", None)  # the exception that has ended the program
    why = "" if error is None else f"{type(error).__name__}: {error}".removesuffix(": ")
    leave = ctypes.CDLL(str(LIBRARY)).ShoalLeaveJobs
    leave.restype, leave.argtypes = ctypes.c_int, [ctypes.c_char_p, ctypes.c_double]
    if leave(why.encode(), _LEADER_STAYS_S if state.service is not None else 0):
        _drop_coordination()


def _drop_coordination() -> None:
    """Keeps JAX from ending its part in the job's coordination, which would wait."""
    from jax._src import distributed

    state = distributed.global_state
    for kept in (state.client, state.service, state.preemption_sync_manager):
        _keep(kept)
    state.client = state.service = state.preemption_sync_manager = None


def _forget_job() -> None:
    """In a child that was forked off: the client and its job are its parent's, and the threads that end them are not here."""
    _drop_coordination()
    _keep(_made)


def _keep(what) -> None:
    """Lets it outlive the interpreter."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))


def _keep_client() -> None:
    """Lets the client outlive the interpreter's modules.

    A NumPy array that looks into a device's memory asks jaxlib's client when it goes. One in a module's globals goes
    last of all, and found the client gone: a segmentation fault at exit. A job of several processes is left in order
    all the same, because the others wait for that.
    """
    for array in _made.live_arrays():
        array.block_until_ready()
    _keep(_made)


def _client_options() -> dict[str, int]:
    """What JAX's own settings and flags say about the client.

    The number of devices is jax_num_cpu_devices, else SHOAL_NUM_DEVICES (which the plugin reads), else XLA's flag.

    JAX asks for zero copy wherever it hands over a NumPy array, also for `jnp.array`, `device_put(may_alias=False)` and
    the arguments of a jitted function; the array that results would then change whenever the caller writes to the NumPy
    array. Shoal copies instead. `jnp.from_dlpack` shares memory.
    """
    from jax._src import xla_bridge

    options = {"zero_copy_host_buffers": 0}
    count = xla_bridge.num_cpu_devices.value
    if count < 0 and "SHOAL_NUM_DEVICES" not in os.environ:
        flag = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
        count = int(flag[1]) if flag else -1
    if count >= 0:
        options["num_devices"] = count
    return options
