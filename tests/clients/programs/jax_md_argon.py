"""JAX MD: a Lennard-Jones fluid keeps energy and momentum; its forces with a neighbour list are NumPy's; particles sharded."""

from client import run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
from jax_md import energy, partition, simulate, space

COUNT, BOX = 64, 6.0


def lattice():
    side = np.arange(4) * BOX / 4 + 0.2
    points = np.stack(np.meshgrid(side, side, side, indexing="ij"), -1).reshape(-1, 3)
    return points + np.random.default_rng(0).normal(scale=0.05, size=points.shape)


def numpy_energy(points):
    """JAX MD's truncation: multiplied between r_onset = 2 and r_cutoff = 2.5 by a smooth switch."""
    d = points[:, None] - points[None]
    d -= BOX * np.round(d / BOX)
    r = np.sqrt((d**2).sum(-1))[np.triu_indices(COUNT, 1)]
    r2, onset, cutoff = r**2, 4.0, 6.25
    switch = np.where(
        r2 < onset,
        1,
        np.where(r2 < cutoff, (cutoff - r2) ** 2 * (cutoff + 2 * r2 - 3 * onset) / (cutoff - onset) ** 3, 0),
    )
    return np.sum(switch * 4 * (r**-12 - r**-6))


def program():
    jax.config.update("jax_enable_x64", True)
    points = lattice()
    displacement, shift = space.periodic(BOX)
    pair = energy.lennard_jones_pair(displacement)
    init, apply = simulate.nve(pair, shift, dt=2e-3)

    @jax.jit
    def simulate_all(points):
        state = init(jax.random.key(0), points, kT=0.5)
        total = lambda s: pair(s.position) + 0.5 * jnp.sum(s.momentum**2 / s.mass)
        end = jax.lax.fori_loop(0, 300, lambda _, s: apply(s), state)
        return total(state), total(end), state.momentum.sum(0), end.momentum.sum(0)

    sharded = shard(points, "data")
    before, after, momentum, momentum_after = simulate_all(sharded)
    listed_init, listed = energy.lennard_jones_neighbor_list(
        displacement, BOX, dr_threshold=0.3, format=partition.Dense
    )
    neighbors = listed_init.allocate(points)
    force = jax.jit(lambda p, n: -jax.grad(listed)(p, n.update(p)))(jnp.asarray(points), neighbors)
    i, step = (5, 1), 1e-6
    up, down = points.copy(), points.copy()
    up[i] += step
    down[i] -= step
    return {
        "energy": (jax.jit(pair)(sharded), numpy_energy(points), 1e-8),
        "force": (force[i], -(numpy_energy(up) - numpy_energy(down)) / (2 * step), 1e-5),
        "conserved": (whole(after) - whole(before), 0.0, 2e-3 * abs(float(before))),
        "momentum": (whole(momentum_after), whole(momentum), 1e-9),
    }


if __name__ == "__main__":
    run(program)
