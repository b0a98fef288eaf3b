"""CPU seconds to compile one step of a fully sharded transformer for meshes of more and more devices, which need not
be there; jaxlib's, for eight, beside it.

    plan_size.py [--layers 12] [--devices 8 64 512 4096]

CPU seconds, for then other work on the machine disturbs little. Partitioning must not take longer for more devices.
"""

import argparse
import os
import subprocess
import sys
import time


def step_of(layers, devices):
    """A jitted step and the shapes of its arguments: every matrix is split by rows over all devices, the batch too."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

    width, heads, tokens = 4096, 32, 128
    mesh = Mesh(np.array(devices), ("d",), axis_types=(AxisType.Auto,))
    split = NamedSharding(mesh, P("d"))

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def block(p, x):
        h = norm(x)
        q, k, v = ((h @ p[name]).reshape(*h.shape[:2], heads, -1) for name in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8, -1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["o"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def loss(parameters, x):
        for p in parameters:
            x = block(p, x)
        return (x**2).mean()

    def step(parameters, x):
        value, gradients = jax.value_and_grad(loss)(parameters, x)
        return value, jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradients)

    def matrix(rows, columns):
        return jax.ShapeDtypeStruct((rows, columns), jnp.float32, sharding=split)

    layer = {name: matrix(width, width) for name in "qkvo"} | {"up": matrix(width, 4 * width), "down": matrix(4 * width, width)}
    parameters = [layer] * layers
    x = jax.ShapeDtypeStruct((len(devices), tokens, width), jnp.float32, sharding=split)
    return jax.jit(step, out_shardings=(None, jax.tree.map(lambda _: split, parameters))), (parameters, x)


def child(layers, count):
    import jax

    if os.environ["JAX_PLATFORMS"] == "cpu":
        devices = jax.devices()
    else:
        from jax.experimental import topologies

        devices = topologies.get_topology_desc("any", "shoal", num_devices=count).devices
    step, arguments = step_of(layers, devices)
    lowered = step.lower(*arguments)
    begun = time.process_time()
    lowered.compile()
    print(time.process_time() - begun)


def seconds(platform, layers, count):
    environment = os.environ | {"JAX_PLATFORMS": platform, "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
    command = [sys.executable, __file__, "--child", "--layers", str(layers), "--devices", str(count)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--devices", type=int, nargs="+", default=[8, 64, 512, 4096])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.child:
        return child(a.layers, a.devices[0])
    for count in a.devices:
        print(f"{count:5} devices: {seconds('shoal', a.layers, count):6.2f} CPU seconds", flush=True)
    print(f"    8 devices: {seconds('cpu', a.layers, 8):6.2f} CPU seconds, jaxlib")


if __name__ == "__main__":
    main()
