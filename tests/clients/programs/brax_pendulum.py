"""Brax: a batch of frictionless pendulums over the devices keeps its energy; PPO's own training loop runs and learns."""

import functools

from client import run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
from brax.generalized import pipeline
from brax.io import mjcf

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

    path = whole(jax.jit(jax.vmap(swing))(shard(starts.astype(np.float32), "data")))
    q, speed = path[..., 0].astype(float), path[..., 1].astype(float)
    energy = (1 + 0.4 * 0.01) * speed**2 / 2 - 9.81 * np.cos(q)
    return energy, np.broadcast_to(-9.81 * np.cos(starts), energy.shape)


def learned():
    from brax import envs
    from brax.training.agents.ppo import networks, train

    rewards = []
    train.train(
        environment=envs.get_environment("fast"), num_timesteps=4096, episode_length=64, num_envs=32, batch_size=16, num_minibatches=4,
        num_updates_per_batch=2, unroll_length=8, num_evals=2, num_eval_envs=32, normalize_observations=True, seed=1,
        network_factory=functools.partial(networks.make_ppo_networks, policy_hidden_layer_sizes=(16,), value_hidden_layer_sizes=(16,)),
        progress_fn=lambda step, metrics: rewards.append((step, float(metrics["eval/episode_reward"]))))
    return rewards


def program():
    got, wanted = energies()
    rewards = learned()
    return {"energy": (got, wanted, 0.05), "steps": (rewards[-1][0] >= 4096, True, 0), "reward": (np.isfinite(rewards[-1][1]), True, 0)}


if __name__ == "__main__":
    run(program)
