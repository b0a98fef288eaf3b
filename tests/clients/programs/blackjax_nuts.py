"""BlackJAX: window adaptation and NUTS for a correlated Gaussian, chains sharded over all devices; tempered SMC's evidence."""

from client import run, shard, whole
import blackjax
import blackjax.smc.resampling as resampling
import jax
import jax.numpy as jnp
import numpy as np

COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])
MEAN = np.array([1.0, -2.0])


def logdensity(x):
    d = x - MEAN
    return -0.5 * d @ np.linalg.inv(COVARIANCE) @ d


def chains():
    adapt = blackjax.window_adaptation(blackjax.nuts, logdensity)
    (_, parameters), _ = adapt.run(jax.random.key(0), jnp.zeros(2), num_steps=300)
    nuts = blackjax.nuts(logdensity, **parameters)

    def chain(key, start):
        def step(state, key):
            state, info = nuts.step(key, state)
            return state, (state.position, info.acceptance_rate)

        return jax.lax.scan(step, nuts.init(start), jax.random.split(key, 500))[1]

    starts = shard(np.random.default_rng(0).normal(size=(8, 2)), "data")
    positions, acceptance = jax.jit(
        lambda starts: jax.vmap(chain)(jax.random.split(jax.random.key(1), 8), starts)
    )(starts)
    return whole(positions)[:, 50:].reshape(-1, 2), whole(acceptance)


def log_evidence():
    """Prior N(0, 1), likelihood N(y; x, 1) with y = 2: the evidence is N(2; 0, sqrt 2)."""
    smc = blackjax.adaptive_tempered_smc(
        logprior_fn=lambda x: jax.scipy.stats.norm.logpdf(x).sum(),
        loglikelihood_fn=lambda x: jax.scipy.stats.norm.logpdf(2.0, x).sum(),
        mcmc_step_fn=blackjax.hmc.build_kernel(),
        mcmc_init_fn=blackjax.hmc.init,
        resampling_fn=resampling.systematic,
        mcmc_parameters={
            "step_size": jnp.array([0.5]),
            "inverse_mass_matrix": jnp.ones((1, 1)),
            "num_integration_steps": jnp.array([5]),
        },
        target_ess=0.7,
        num_mcmc_steps=5,
    )
    state = smc.init(jax.random.normal(jax.random.key(3), (1000, 1)))
    step, total = jax.jit(smc.step), 0.0
    for i in range(30):
        state, info = step(jax.random.key(100 + i), state)
        total += info.log_likelihood_increment
        if float(state.tempering_param) >= 1:
            break
    return float(total)


def program():
    jax.config.update("jax_enable_x64", True)
    positions, acceptance = chains()
    return {
        "mean": (positions.mean(0), MEAN, 0.15),
        "covariance": (np.cov(positions.T), COVARIANCE, 0.3),
        "acceptance": (acceptance.mean(), 0.85, 0.15),
        "evidence": (log_evidence(), -0.5 * np.log(4 * np.pi) - 1.0, 0.15),
    }


if __name__ == "__main__":
    run(program)
