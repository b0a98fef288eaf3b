"""GPJax and Dynamax: a Gaussian process' posterior, a Kalman filter and a hidden Markov model, against NumPy."""

from client import run, shard
import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)


def posterior():
    import gpjax as gpx

    x, y = np.sort(RNG.uniform(-2, 2, size=(12, 1)), 0), RNG.normal(size=(12, 1))
    at = np.linspace(-2, 2, 8)[:, None]
    prior = gpx.gps.Prior(
        mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.RBF(lengthscale=0.6, variance=1.3)
    )
    model = prior * gpx.likelihoods.Gaussian(obs_stddev=0.4)
    found = model.condition(gpx.Dataset(jnp.asarray(x), jnp.asarray(y))).predict(jnp.asarray(at))
    kernel = lambda a, b: 1.3 * np.exp(-0.5 * (a - b.T) ** 2 / 0.36)
    solve = np.linalg.solve(kernel(x, x) + 0.16 * np.eye(12), np.concatenate([y, kernel(x, at)], 1))
    mean, variance = kernel(at, x) @ solve[:, 0], np.diag(kernel(at, at) - kernel(at, x) @ solve[:, 1:])
    return jnp.stack([found.mean.reshape(-1), found.variance.reshape(-1)]), np.stack([mean, variance])


def kalman():
    """A batch of series over the devices."""
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    f, h = np.array([[1.0, 0.1], [0.0, 0.9]]), np.array([[1.0, 0.0]])
    q, r = 0.1 * np.eye(2), 0.3 * np.eye(1)
    series = RNG.normal(size=(8, 15, 1))
    model = LinearGaussianSSM(2, 1)
    params, _ = model.initialize(
        jax.random.key(0),
        initial_mean=jnp.zeros(2),
        initial_covariance=jnp.eye(2),
        dynamics_weights=jnp.asarray(f),
        dynamics_covariance=jnp.asarray(q),
        emission_weights=jnp.asarray(h),
        emission_covariance=jnp.asarray(r),
    )
    got = jax.jit(jax.vmap(lambda y: model.filter(params, y).marginal_loglik))(shard(series, "data"))
    wanted = []
    for ys in series:
        m, p, total = np.zeros(2), np.eye(2), 0.0
        for y in ys:
            s = h @ p @ h.T + r
            e = y - h @ m
            total += -0.5 * (np.log(2 * np.pi * s[0, 0]) + e[0] ** 2 / s[0, 0])
            gain = p @ h.T / s[0, 0]
            m, p = m + gain @ e, p - gain @ h @ p
            m, p = f @ m, f @ p @ f.T + q
        wanted.append(total)
    return got, np.array(wanted)


def markov():
    from dynamax.hidden_markov_model import hmm_filter, hmm_posterior_mode

    initial, transition = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    log_likelihoods = np.log(RNG.uniform(0.1, 0.9, size=(20, 2)))
    alpha = initial * np.exp(log_likelihoods[0])
    for row in log_likelihoods[1:]:
        alpha = (alpha @ transition) * np.exp(row)
    # The best path by trying all for the first ten steps.
    paths = np.array(np.meshgrid(*[[0, 1]] * 10, indexing="ij")).reshape(10, -1)
    scores = np.log(initial[paths[0]]) + sum(log_likelihoods[t, paths[t]] for t in range(10))
    scores += sum(np.log(transition[paths[t - 1], paths[t]]) for t in range(1, 10))
    best = hmm_posterior_mode(initial, transition, log_likelihoods[:10])
    return (
        hmm_filter(initial, transition, log_likelihoods).marginal_loglik,
        np.log(alpha.sum()),
        best,
        paths[:, scores.argmax()],
    )


def program():
    jax.config.update("jax_enable_x64", True)
    likelihood, wanted, best, path = markov()
    return {
        "posterior": (*posterior(), 1e-4),
        "kalman": (*kalman(), 1e-6),
        "likelihood": (likelihood, wanted, 1e-8),
        "path": (best, path, 0),
    }


if __name__ == "__main__":
    run(program)
