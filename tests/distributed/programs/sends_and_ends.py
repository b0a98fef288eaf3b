"""Process 0 sends a large array to process 1, which comes to it late, and ends; process 1 tells the last element."""

from told import distributed, tell

distributed()

import time

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

rank, devices = jax.process_index(), jax.devices()
values = np.arange(2**24, dtype=np.float32)
array = jax.make_array_from_callback(values.shape, SingleDeviceSharding(devices[0]), lambda index: values[index], dtype=values.dtype)
time.sleep(2 * rank)
array = jax.device_put(array, SingleDeviceSharding(devices[1]))
tell(float(np.asarray(array)[-1]) if rank == 1 else 0)
