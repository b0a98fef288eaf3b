"""The same job on Shoal and on jaxlib's CPU backend with Gloo: the environment of each of its processes."""

import itertools
import os
import socket

# A program joins with this; on Shoal there is nothing to do.
JOIN = """
import os, jax
if "COORDINATOR" in os.environ:
    jax.distributed.initialize(os.environ["COORDINATOR"], int(os.environ["COUNT"]), int(os.environ["NUMBER"]))
"""
_jobs = itertools.count()


def environments(platform, processes, devices, **extra):
    """`platform` is "cpu", which is jaxlib's own, or "shoal"."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        coordinator = f"127.0.0.1:{free.getsockname()[1]}"
    common = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "JAX_", "XLA_"))}
    common |= {"JAX_PLATFORMS": platform, "COUNT": str(processes), **extra}
    if platform == "shoal":
        common |= {"SHOAL_NUM_PROCESSES": str(processes), "SHOAL_NUM_DEVICES": str(devices),
                   "SHOAL_JOB": f"benchmark-{os.getpid()}-{next(_jobs)}"}
    else:
        common |= {"COORDINATOR": coordinator, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    return [common | {"NUMBER": str(p), "SHOAL_PROCESS_ID": str(p)} for p in range(processes)]
