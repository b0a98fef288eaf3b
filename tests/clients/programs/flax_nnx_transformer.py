"""Flax NNX: attention against NumPy; a model sharded over two axes and trained with nnx.Optimizer to least squares."""

from client import mesh, run, shard, whole
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.special
from flax import nnx
from jax.sharding import PartitionSpec

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 6))
Y = X @ RNG.normal(size=(6, 4)) + 0.1 * RNG.normal(size=(64, 4))


def attention():
    attend = nnx.MultiHeadAttention(
        num_heads=2, in_features=8, decode=False, rngs=nnx.Rngs(0), param_dtype=jnp.float64
    )
    x = np.random.default_rng(1).normal(size=(4, 5, 8))
    got = nnx.jit(lambda m, x: m(x, mask=nnx.make_causal_mask(x[..., 0])))(attend, shard(x, "data"))
    q, k, v = (
        np.einsum("bse,ehd->bshd", x, np.asarray(m.kernel[...]))
        for m in (attend.query, attend.key, attend.value)
    )
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / 2
    weights = scipy.special.softmax(np.where(np.tril(np.ones((5, 5))), scores, -np.inf), -1)
    return got, np.einsum(
        "bqhd,hde->bqe", np.einsum("bhqk,bkhd->bqhd", weights, v), np.asarray(attend.out.kernel[...])
    )


class Deep(nnx.Module):
    """Two linear layers: the best that it can do is least squares."""

    def __init__(self, rngs):
        def partitioned(*axes):
            return nnx.with_partitioning(nnx.initializers.lecun_normal(), axes)

        self.up = nnx.Linear(
            6, 16, use_bias=False, kernel_init=partitioned(None, "model"), param_dtype=jnp.float64, rngs=rngs
        )
        self.down = nnx.Linear(
            16, 4, use_bias=False, kernel_init=partitioned("model", None), param_dtype=jnp.float64, rngs=rngs
        )

    def __call__(self, x):
        return self.down(self.up(x))


def training():
    devices = mesh("data", "model")

    @nnx.jit
    def create():
        model = Deep(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(3e-2), wrt=nnx.Param)
        for node in (model, optimizer):
            state = nnx.state(node)
            nnx.update(node, jax.lax.with_sharding_constraint(state, nnx.get_named_sharding(state, devices)))
        return model, optimizer

    @nnx.jit(donate_argnames=("model", "optimizer"))
    def step(model, optimizer, x, y):
        loss, gradient = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
        optimizer.update(model, gradient)
        return loss

    with jax.set_mesh(devices):
        model, optimizer = create()
        x, y = shard(X, "data", on=devices), shard(Y, "data", on=devices)
        for _ in range(200):
            loss = step(model, optimizer, x, y)
    residual = np.linalg.lstsq(X, Y)[1].sum() / Y.size
    return whole(loss), residual, model.up.kernel[...].sharding.spec


def program():
    jax.config.update("jax_enable_x64", True)
    loss, residual, spec = training()
    return {
        "attention": (*attention(), 1e-6),
        "loss": (loss / residual, 1.0, 0.02),
        "sharded": (spec == PartitionSpec(None, "model"), True, 0),
    }


if __name__ == "__main__":
    run(program)
