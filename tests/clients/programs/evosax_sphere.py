"""evosax: CMA-ES and others, their populations evaluated over the devices, find the minimum of a shifted ellipsoid."""

from client import mesh, run
import evosax.algorithms
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CENTRE = np.array([1.0, -2.0, 0.5, 3.0])


def minimum(algorithm, generations):
    strategy = algorithm(population_size=32, solution=jnp.zeros(4))
    parameters = strategy.default_params
    over_devices = NamedSharding(mesh(), PartitionSpec("data"))

    def generation(state, key):
        ask, tell = jax.random.split(key)
        population, state = strategy.ask(ask, state, parameters)
        population = jax.lax.with_sharding_constraint(population, over_devices)
        fitness = jnp.sum((population - CENTRE) ** 2 * jnp.arange(1, 5), -1)
        state, _ = strategy.tell(tell, population, fitness, state, parameters)
        return state, None

    @jax.jit
    def search():
        state = strategy.init(jax.random.key(0), jnp.zeros(4), parameters)
        state, _ = jax.lax.scan(generation, state, jax.random.split(jax.random.key(1), generations))
        return strategy.get_mean(state)

    return search()


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "CMA-ES": (minimum(evosax.algorithms.CMA_ES, 120), CENTRE, 1e-2),
        "xNES": (minimum(evosax.algorithms.xNES, 200), CENTRE, 0.1),
    }


if __name__ == "__main__":
    run(program)
