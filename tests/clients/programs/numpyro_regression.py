"""NumPyro: NUTS for a linear regression whose posterior is a Gaussian known in closed form.

One process runs a chain a device (chain_method="parallel"); several share vectorised chains over sharded data.
"""

from client import run, shard, whole
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive, SVI, Trace_ELBO, autoguide

RNG = np.random.default_rng(3)
X = RNG.normal(size=(64, 3))
NOISE = 0.5
Y = X @ np.array([1.0, -2.0, 0.5]) + NOISE * RNG.normal(size=64)


def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, NOISE), obs=y)


def program():
    jax.config.update("jax_enable_x64", True)
    covariance = np.linalg.inv(X.T @ X / NOISE**2 + np.eye(3))
    mean = covariance @ X.T @ Y / NOISE**2
    deviation = np.sqrt(np.diag(covariance))

    alone = jax.process_count() == 1
    x, y = (X, Y) if alone else (shard(X, "data"), shard(Y, "data"))
    mcmc = MCMC(
        NUTS(model),
        num_warmup=200,
        num_samples=400,
        num_chains=4,
        progress_bar=False,
        chain_method="parallel" if alone else "vectorized",
        jit_model_args=not alone,
    )
    mcmc.run(jax.random.key(0), x, y)
    w = whole(mcmc.get_samples()["w"])

    guide = autoguide.AutoMultivariateNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.02), Trace_ELBO(num_particles=4))
    found = svi.run(jax.random.key(1), 1500, X, Y, progress_bar=False)
    drawn = Predictive(guide, params=found.params, num_samples=2000)(jax.random.key(2), X)["w"]
    return {
        "NUTS: mean": (w.mean(0), mean, 5 * deviation / np.sqrt(400)),
        "NUTS: deviation": (w.std(0) / deviation, np.ones(3), 0.12),
        "SVI: mean": (np.asarray(drawn).mean(0), mean, 0.5 * deviation),
    }


if __name__ == "__main__":
    if jax.process_count() == 1:
        numpyro.set_host_device_count(jax.device_count())
    run(program)
