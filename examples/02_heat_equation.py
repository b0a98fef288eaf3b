"""The two-dimensional heat equation on a grid that is cut into one block for each device.

Plain JAX: nothing in this file is about Shoal. It runs on any number of processes and devices:

    JAX_PLATFORMS=shoal SHOAL_NUM_DEVICES=4 python examples/02_heat_equation.py
    JAX_PLATFORMS=shoal SHOAL_NUM_DEVICES=2 mpirun -n 3 python examples/02_heat_equation.py

shard_map gives each device its block. In each step it gets the neighbours' edges with ppermute, the halo exchange, and
then computes on its block alone; beyond the plate it is cold. The field is drawn into a PNG and compared with NumPy,
which computes it in one piece.
"""

import argparse
import functools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

TOLERANCE = 1e-4  # degrees, against NumPy in float64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=192)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.2, help="alpha * dt / dx^2, stable up to 0.25")
    parser.add_argument("--plot", default="heat_equation.png", metavar="PNG", help="empty: no plot")
    return parser.parse_args()


def make_mesh():
    """All devices as (rows, columns), as square as it gets."""
    devices = np.array(jax.devices())
    n = len(devices)
    columns = max(c for c in range(1, n + 1) if n % c == 0 and c * c <= n)
    return Mesh(devices.reshape(n // columns, columns), ("rows", "columns"), axis_types=(AxisType.Auto,) * 2)


def initial_field(rows, columns):
    """A hot disc and a hot bar on a cold plate, in degrees."""
    y, x = np.mgrid[0:rows, 0:columns]
    disc = (y - 0.35 * rows) ** 2 + (x - 0.3 * columns) ** 2 < (0.15 * min(rows, columns)) ** 2
    bar = (np.abs(y - 0.7 * rows) < 0.05 * rows) & (np.abs(x - 0.65 * columns) < 0.2 * columns)
    return 100.0 * disc + 70.0 * bar


def edges_of_neighbours(block, axis, dimension):
    """The last line of the block before and the first line of the block after; zeros beyond the plate."""
    count = jax.lax.axis_size(axis)
    first = jax.lax.slice_in_dim(block, 0, 1, axis=dimension)
    last = jax.lax.slice_in_dim(block, block.shape[dimension] - 1, block.shape[dimension], axis=dimension)
    before = jax.lax.ppermute(last, axis, [(i, i + 1) for i in range(count - 1)])
    after = jax.lax.ppermute(first, axis, [(i + 1, i) for i in range(count - 1)])
    return before, after


def step_of_block(block, rate):
    above, below = edges_of_neighbours(block, "rows", 0)
    left, right = edges_of_neighbours(block, "columns", 1)
    tall = jnp.concatenate([above, block, below], axis=0)
    wide = jnp.concatenate([left, block, right], axis=1)
    return block + rate * (tall[:-2] + tall[2:] + wide[:, :-2] + wide[:, 2:] - 4 * block)


def make_simulation(mesh, steps, rate):
    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("rows", "columns"), out_specs=P("rows", "columns"))
    def simulate(block):
        return jax.lax.fori_loop(0, steps, lambda _, block: step_of_block(block, rate), block)

    return simulate


def simulate_with_numpy(field, steps, rate):
    field = np.pad(field, 1)
    for _ in range(steps):
        inner = field[1:-1, 1:-1]
        field[1:-1, 1:-1] = inner + rate * (
            field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4 * inner)
    return field[1:-1, 1:-1]


def plot(field, mesh, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
    picture = axes.imshow(field, cmap="inferno", origin="lower")
    for k in range(1, mesh.shape["rows"]):
        axes.axhline(k * field.shape[0] / mesh.shape["rows"] - 0.5, color="white", lw=0.5, ls=":")
    for k in range(1, mesh.shape["columns"]):
        axes.axvline(k * field.shape[1] / mesh.shape["columns"] - 0.5, color="white", lw=0.5, ls=":")
    axes.set_title(f"{jax.process_count()} process(es), {jax.device_count()} device(s); dotted: the blocks")
    figure.colorbar(picture, label="degrees")
    figure.savefig(path, dpi=120)
    print(f"field: {path}")


def main():
    options = arguments()
    mesh = make_mesh()
    rows = -(-options.rows // mesh.shape["rows"]) * mesh.shape["rows"]
    columns = -(-options.columns // mesh.shape["columns"]) * mesh.shape["columns"]
    start = initial_field(rows, columns)
    sharding = NamedSharding(mesh, P("rows", "columns"))
    field = jax.make_array_from_callback(start.shape, sharding, lambda index: start[index].astype(np.float32))
    first = jax.process_index() == 0
    if first:
        print(f"{jax.process_count()} process(es), {jax.device_count()} device(s), grid {rows} x {columns} in {dict(mesh.shape)} blocks",
              flush=True)
        jax.debug.visualize_array_sharding(field, use_color=False, scale=0.6)

    simulate = make_simulation(mesh, options.steps, options.rate).lower(field).compile()
    begin = time.perf_counter()
    field = jax.block_until_ready(simulate(field))
    seconds = time.perf_counter() - begin
    whole = np.asarray(jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, P()))(field))
    if not first:
        return
    print(f"{options.steps} steps in {seconds:.3f} s, {rows * columns * options.steps / seconds / 1e6:,.0f} million points a second")
    if options.plot:
        plot(whole, mesh, options.plot)
    worst = float(np.max(np.abs(whole - simulate_with_numpy(start, options.steps, options.rate))))
    good = worst < TOLERANCE
    print(f"check: the field differs from NumPy's by at most {worst:.2e} degrees: {'good' if good else 'BAD'}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
