"""Haiku, Chex and Distrax: an LSTM against NumPy, Chex's variants and assertions, and densities against SciPy."""

from client import run, shard
import chex
import distrax
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import scipy.stats

X = np.random.default_rng(0).normal(size=(7, 8, 3)).astype(np.float32)  # time, batch, features


def lstm():
    def forward(x):
        core = hk.LSTM(5)
        return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]

    model = hk.without_apply_rng(hk.transform(forward))
    params = model.init(jax.random.key(0), X)
    got = jax.jit(model.apply)(params, shard(X, None, "data"))
    weights = jax.tree.map(lambda a: np.asarray(a, np.float64), params)["lstm/linear"]
    h = c = np.zeros((8, 5))
    outputs = []
    for x in X:
        i, g, f, o = np.split(np.concatenate([x, h], -1) @ weights["w"] + weights["b"], 4, -1)
        c = scipy.special.expit(f + 1) * c + scipy.special.expit(i) * np.tanh(g)
        h = scipy.special.expit(o) * np.tanh(c)
        outputs.append(h)
    return got, np.stack(outputs)


def batch_norm():
    """Statistics of a batch that is sharded are those of the whole batch."""
    model = hk.without_apply_rng(
        hk.transform_with_state(lambda x: hk.BatchNorm(False, False, 0.9)(x, is_training=True))
    )
    params, state = model.init(jax.random.key(0), X[0])
    got = jax.jit(model.apply)(params, state, shard(X[0], "data"))[0]
    return got, (X[0] - X[0].mean(0)) / np.sqrt(X[0].var(0) + 1e-5)


def chexified():
    @chex.chexify
    @jax.jit
    def log(x):
        chex.assert_trees_all_equal_shapes(x, x)
        from chex import assert_tree_all_finite as finite

        finite(x)
        return jnp.log(x)

    try:
        log(jnp.array([1.0, np.inf]))
        chex.block_until_chexify_assertions_complete()
    except AssertionError:
        return log(jnp.array([np.e], jnp.float32))
    return jnp.zeros(1)


def densities():
    x = np.linspace(0.05, 0.95, 8).astype(np.float32)
    pairs = [
        (distrax.Normal(0.3, 1.2), scipy.stats.norm(0.3, 1.2)),
        (distrax.Beta(2.0, 3.5), scipy.stats.beta(2.0, 3.5)),
        (distrax.Gamma(2.5, 1.5), scipy.stats.gamma(2.5, scale=1 / 1.5)),
        (distrax.Laplace(0.1, 0.7), scipy.stats.laplace(0.1, 0.7)),
        (distrax.Gumbel(0.0, 1.0), scipy.stats.gumbel_r()),
        (distrax.Logistic(0.2, 0.5), scipy.stats.logistic(0.2, 0.5)),
        (distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Lambda(jnp.exp)), scipy.stats.lognorm(1.0)),
        (distrax.VonMises(0.0, 2.0), scipy.stats.vonmises(2.0)),
    ]
    sharded = shard(x, "data")
    return jnp.stack([jax.jit(d.log_prob)(sharded) for d, _ in pairs]), np.stack(
        [s.logpdf(x) for _, s in pairs]
    )


def flow():
    """Inverse of forward, and the logarithm of the determinant against the numerical Jacobian's."""
    coupling = distrax.MaskedCoupling(
        mask=np.arange(4) % 2 == 0,
        bijector=lambda p: distrax.RationalQuadraticSpline(p, range_min=-3.0, range_max=3.0),
        conditioner=lambda x: jnp.tile(jnp.sin(x)[..., :, None], 10)
        * np.linspace(-1, 1, 10, dtype=np.float32),
    )
    x = np.random.default_rng(1).normal(size=4).astype(np.float32)
    y, logdet = jax.jit(coupling.forward_and_log_det)(x)
    jacobian = jax.jacfwd(coupling.forward)(x)
    return jnp.concatenate([coupling.inverse(y), logdet[None]]), np.append(
        x, np.log(abs(np.linalg.det(np.asarray(jacobian))))
    )


def program():
    return {
        "lstm": (*lstm(), 1e-5),
        "batch norm": (*batch_norm(), 1e-5),
        "chexify": (chexified(), [1.0], 1e-6),
        "densities": (*densities(), 1e-4),
        "flow": (*flow(), 1e-4),
    }


if __name__ == "__main__":
    run(program)
