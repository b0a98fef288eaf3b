"""Equinox: a linear model trained data-parallel by Optax's L-BFGS reaches least squares; an MLP's gradient is right."""

from client import mesh, run, shard, whole
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 5))
Y = RNG.normal(size=(96, 2))


def least_squares():
    replicated = NamedSharding(mesh(), PartitionSpec())
    model = eqx.filter_shard(eqx.nn.Linear(5, 2, key=jax.random.key(0)), replicated)
    x, y = shard(X, "data"), shard(Y, "data")
    optimizer = optax.lbfgs()
    state = eqx.filter_shard(optimizer.init(eqx.filter(model, eqx.is_inexact_array)), replicated)

    @eqx.filter_jit(donate="all-except-first")
    def step(data, model, state):
        x, y = data
        parameters, static = eqx.partition(model, eqx.is_inexact_array)

        def loss(parameters):
            return jnp.mean((jax.vmap(eqx.combine(parameters, static))(x) - y) ** 2)

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(
            gradient, state, parameters, value=value, grad=gradient, value_fn=loss
        )
        return eqx.apply_updates(model, updates), state

    for _ in range(30):
        model, state = step((x, y), model, state)
    with_ones = np.concatenate([X, np.ones((96, 1))], 1)
    return np.concatenate([whole(model.weight).T, whole(model.bias)[None]]), np.linalg.lstsq(with_ones, Y)[0]


def mlp_gradient():
    mlp = eqx.nn.MLP(5, "scalar", 16, 2, activation=jax.nn.gelu, key=jax.random.key(1))
    x = shard(X, "data")
    loss = eqx.filter_jit(lambda m, x: jnp.mean(jax.vmap(m)(x) ** 2))
    got = eqx.filter_grad(loss)(mlp, x).layers[1].weight[3, 4]

    def at(step):
        moved = eqx.tree_at(lambda m: m.layers[1].weight, mlp, mlp.layers[1].weight.at[3, 4].add(step))
        return float(loss(moved, x))

    return got, (at(1e-5) - at(-1e-5)) / 2e-5


def checked():
    """eqx.error_if is a callback that raises."""

    @eqx.filter_jit
    def root(x):
        return jnp.sqrt(eqx.error_if(x, x < 0, "negative"))

    try:
        root(jnp.array(-1.0)).block_until_ready()
    except Exception as e:  # of JAX, whose class depends on its version
        return float("negative" in str(e)) + float(root(jnp.array(4.0)))
    return np.nan


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "least squares": (*least_squares(), 1e-5),
        "gradient": (*mlp_gradient(), 1e-8),
        "error_if": (checked(), 3.0, 0.0),
    }


if __name__ == "__main__":
    run(program)
