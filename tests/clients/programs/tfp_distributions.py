"""TensorFlow Probability on JAX: densities and special functions against SciPy, HMC on the devices, a Gaussian process."""

from client import run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors


def densities():
    x = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    pairs = [
        (tfd.StudentT(3.0, 0.1, 0.8), scipy.stats.t(3.0, 0.1, 0.8)),
        (tfd.Weibull(1.5, 2.0), scipy.stats.weibull_min(1.5, scale=2.0)),
        (tfd.InverseGamma(3.0, 2.0), scipy.stats.invgamma(3.0, scale=2.0)),
        (tfd.Cauchy(0.0, 1.0), scipy.stats.cauchy()),
        (tfd.Kumaraswamy(1.0, 3.0), scipy.stats.beta(1.0, 3.0)),
        (tfd.TruncatedNormal(0.0, 1.0, -1.0, 2.0), scipy.stats.truncnorm(-1.0, 2.0)),
        (tfd.InverseGaussian(1.0, 2.0), scipy.stats.invgauss(0.5, scale=2.0)),
        (tfd.VonMises(0.0, 1.5), scipy.stats.vonmises(1.5)),
    ]
    sharded = shard(x, "data")
    log = jnp.stack([jax.jit(d.log_prob)(sharded) for d, _ in pairs])
    cdf = jnp.stack([jax.jit(d.cdf)(sharded) for d, _ in pairs])
    return jnp.stack([log, cdf]), np.stack([[s.logpdf(x) for _, s in pairs], [s.cdf(x) for _, s in pairs]])


def wishart():
    scale = np.array([[2.0, 0.3], [0.3, 1.0]])
    x = np.array([[1.5, -0.2], [-0.2, 2.5]])
    return tfd.WishartTriL(np.float64(5.0), np.linalg.cholesky(scale)).log_prob(x), scipy.stats.wishart(
        5, scale
    ).logpdf(x)


def hmc():
    """Chains that start sharded; the target is a Gamma(3, 2) seen through a logarithm."""
    target = tfd.Gamma(np.float64(3.0), np.float64(2.0))
    kernel = tfp.mcmc.TransformedTransitionKernel(
        tfp.mcmc.SimpleStepSizeAdaptation(
            tfp.mcmc.HamiltonianMonteCarlo(target.log_prob, step_size=np.float64(0.5), num_leapfrog_steps=4),
            num_adaptation_steps=150,
        ),
        tfb.Exp(),
    )

    @jax.jit
    def sample(starts):
        return tfp.mcmc.sample_chain(
            400, starts, kernel=kernel, num_burnin_steps=200, trace_fn=None, seed=jax.random.PRNGKey(0)
        )

    x = whole(sample(shard(np.ones(16), "data")))
    return np.array([x.mean(), x.var()]), [1.5, 0.75]


def process():
    kernel = tfp.math.psd_kernels.MaternFiveHalves(np.float64(1.2), np.float64(0.7))
    at = np.linspace(0, 3, 7)[:, None]
    d = np.abs(at - at.T) / 0.7 * np.sqrt(5)
    covariance = 1.44 * (1 + d + d * d / 3) * np.exp(-d) + 0.1 * np.eye(7)
    y = np.sin(at[:, 0])
    got = tfd.GaussianProcess(kernel, at, observation_noise_variance=np.float64(0.1)).log_prob(y)
    return got, scipy.stats.multivariate_normal(np.zeros(7), covariance).logpdf(y)


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "densities": (*densities(), 5e-6),
        "Wishart": (*wishart(), 1e-8),
        "HMC": (*hmc(), 0.08),
        "Gaussian process": (*process(), 1e-5),
    }


if __name__ == "__main__":
    run(program)
