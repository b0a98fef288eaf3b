"""Brax: a batch of frictionless pendulums over the devices keeps its energy; a gradient through steps is that of differences."""

import functools

from client import run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
from brax.generalized import pipeline
from brax.io import mjcf
from brax.spring import pipeline as spring

PENDULUM = """<mujoco><option timestep="0.002" gravity="0 0 -9.81"/><worldbody><body>
<joint type="hinge" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0 0 -1" mass="1" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""


def energies():
    """A point mass at 1 m with a ball's own inertia: E = (1 + 2/5 r^2) w^2 / 2 - g cos q, and its period is the elliptic integral's."""
    system = mjcf.loads(PENDULUM)
    starts = np.linspace(0.2, 1.2, 8)[:, None]

    def swing(q):
        def step(state, _):
            state = pipeline.step(system, state, jnp.zeros(0))
            return state, jnp.stack([state.q[0], state.qd[0]])

        return jax.lax.scan(step, pipeline.init(system, q, jnp.zeros(1)), length=500)[1]

    path = whole(jax.jit(jax.vmap(swing))(shard(starts, "data")))
    q, speed = path[..., 0].astype(float), path[..., 1].astype(float)
    energy = (1 + 0.4 * 0.01) * speed**2 / 2 - 9.81 * np.cos(q)
    return energy, np.broadcast_to(-9.81 * np.cos(starts), energy.shape)


def gradient():
    """Of where the pendulum of Brax's spring pipeline is after 100 steps, by where it began; against differences."""
    system = mjcf.loads(PENDULUM)

    def end(q):
        def step(state, _):
            return spring.step(system, state, jnp.zeros(0)), None

        return jax.lax.scan(step, spring.init(system, q[None], jnp.zeros(1)), length=100)[0].q[0]

    f = jax.jit(jax.value_and_grad(end))
    return f(0.7)[1], (f(0.7 + 1e-4)[0] - f(0.7 - 1e-4)[0]) / 2e-4


def program():
    # Brax puts its model on jax.devices()[0], which only the first process has.
    mjcf.mjx.put_model = functools.partial(mjcf.mjx.put_model, device=jax.local_devices()[0])
    jax.config.update("jax_enable_x64", True)
    got, wanted = energies()
    by_gradient, by_differences = gradient()
    return {"energy": (got, wanted, 0.05), "gradient": (by_gradient / by_differences, 1.0, 1e-4)}


if __name__ == "__main__":
    run(program)
