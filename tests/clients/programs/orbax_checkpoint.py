"""Orbax: a sharded state is saved by all processes, restored to another sharding, and again by a manager that keeps two steps."""

import contextlib
import os
import shutil
import tempfile

from client import mesh, run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

W = np.arange(8 * 6, dtype=np.float32).reshape(8, 6)
B = np.arange(5, dtype=np.int32) - 2


@contextlib.contextmanager
def folder():
    """One for the job, while it needs it: its launcher's pid is the same for all processes."""
    path = os.path.join(tempfile.gettempdir(), f"shoal-orbax-{os.getppid()}")
    os.makedirs(path, exist_ok=True)
    yield path
    multihost_utils.sync_global_devices("all have read")
    if jax.process_index() == 0:
        shutil.rmtree(path)


def program():
    with folder() as place:
        return saved_and_restored(place)


def saved_and_restored(place):
    state = {
        "w": shard(W, "data"),
        "b": shard(B),
        "half": shard(W.astype(jnp.bfloat16), None, None),
        "step": 7,
    }
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(os.path.join(place, "one"), state)
        checkpointer.wait_until_finished()
        devices = mesh("data", "model")
        other = NamedSharding(devices, PartitionSpec("model", None))
        like = {
            "w": jax.ShapeDtypeStruct(W.shape, W.dtype, sharding=other),
            "b": jax.ShapeDtypeStruct(B.shape, B.dtype, sharding=NamedSharding(devices, PartitionSpec())),
            "half": jax.ShapeDtypeStruct(W.shape, jnp.bfloat16, sharding=other),
            "step": 0,
        }
        restored = checkpointer.restore(os.path.join(place, "one"), like)

    with ocp.CheckpointManager(
        os.path.join(place, "many"), options=ocp.CheckpointManagerOptions(max_to_keep=2)
    ) as manager:
        for step in range(4):
            manager.save(step, args=ocp.args.StandardSave({"w": state["w"] + step}))
        manager.wait_until_finished()
        steps = sorted(manager.all_steps())
        last = manager.restore(3, args=ocp.args.StandardRestore({"w": like["w"]}))
    return {
        "w": (restored["w"], W, 0),
        "b": (restored["b"], B, 0),
        "half": (whole(restored["half"]).astype(np.float32), W, 0),
        "step": (restored["step"], 7, 0),
        "sharding": (restored["w"].sharding == other, True, 0),
        "steps": (steps, [2, 3], 0),
        "last": (last["w"], W + 3, 0),
    }


if __name__ == "__main__":
    if int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")) > 1:
        jax.distributed.initialize()  # Orbax asks for JAX's coordination service
    run(program)
