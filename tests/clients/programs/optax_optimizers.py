"""Optax: Adam with weight decay, clipping and a schedule on sharded parameters, against NumPy; L-BFGS and others find minima."""

from client import mesh, run, shard
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

RATE, DECAY, STEPS = 0.1, 0.01, 20
TARGET = np.random.default_rng(0).normal(size=(8, 5))


def adamw():
    schedule = optax.cosine_decay_schedule(RATE, STEPS)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=DECAY))
    w = shard(np.zeros(TARGET.shape), "data")
    target = shard(TARGET, "data")
    state = jax.jit(optimizer.init)(w)

    @jax.jit
    def step(w, state, target):
        updates, state = optimizer.update(jax.grad(lambda w: jnp.sum((w - target) ** 2))(w), state, w)
        return optax.apply_updates(w, updates), state

    for _ in range(STEPS):
        w, state = step(w, state, target)
    return w


def numpy_adamw():
    w, m, v = (np.zeros(TARGET.shape) for _ in range(3))
    for t in range(1, STEPS + 1):
        g = 2 * (w - TARGET)
        g /= max(1, np.linalg.norm(g))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = RATE * 0.5 * (1 + np.cos(np.pi * (t - 1) / STEPS))
        w = w - rate * (m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + DECAY * w)
    return w


def rosenbrock():
    def f(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    optimizer = optax.lbfgs()

    def step(carry, _):
        x, state = carry
        value, gradient = optax.value_and_grad_from_state(f)(x, state=state)
        updates, state = optimizer.update(gradient, state, x, value=value, grad=gradient, value_fn=f)
        return (optax.apply_updates(x, updates), state), None

    start = jnp.zeros(6)
    (x, _), _ = jax.jit(lambda x: jax.lax.scan(step, (x, optimizer.init(x)), length=60))(start)
    return x


def all_find_zero():
    """One program with the updates of a dozen optimisers on (x - 3)^2 of a parameter that is replicated."""
    optimizers = [
        optax.sgd(0.1, momentum=0.5, nesterov=True),
        optax.rmsprop(0.05),
        optax.adagrad(1.0),
        optax.lion(0.01),
        optax.nadam(0.05),
        optax.radam(0.1),
        optax.yogi(0.1),
        optax.adafactor(0.1),
        optax.amsgrad(0.1),
        optax.lamb(0.02),
        optax.novograd(0.05),
        optax.adabelief(0.05),
    ]
    start = jax.device_put(np.full(4, 2.0), NamedSharding(mesh(), PartitionSpec()))

    @jax.jit
    def train(x):
        ends = []
        for optimizer in optimizers:

            def step(carry, _, optimizer=optimizer):
                x, state = carry
                updates, state = optimizer.update(2 * (x - 3), state, x)
                return (optax.apply_updates(x, updates), state), None

            ends.append(jax.lax.scan(step, (x, optimizer.init(x)), length=400)[0][0])
        return jnp.stack(ends)

    return train(start)


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "adamw": (adamw(), numpy_adamw(), 1e-12),
        "rosenbrock": (rosenbrock(), np.ones(6), 1e-6),
        "all": (all_find_zero(), np.full((12, 4), 3.0), 0.2),
    }


if __name__ == "__main__":
    run(program)
