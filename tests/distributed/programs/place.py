"""Tells where this process stands, as JAX sees it."""

from told import distributed, tell

import jax

distributed()
tell({
    "count": jax.process_count(),
    "devices": [d.id for d in jax.devices()],
    "owners": [d.process_index for d in jax.devices()],
    "local": [d.id for d in jax.local_devices()],
    "platform": jax.default_backend(),
})
