"""Flax Linen: an attention block with logically partitioned parameters on a mesh of two axes, against NumPy; and one epoch
of Adam over sharded data, with batch statistics and dropout.
"""

from client import mesh, run, shard, whole
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.special
from flax.training import train_state

RULES = (("batch", "data"), ("hidden", "model"), ("embed", None))
X = np.random.default_rng(0).normal(size=(8, 6, 16)).astype(np.float32)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.LayerNorm(name="norm")(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=4, name="attention")(h)
        h = nn.Dense(
            32,
            name="up",
            kernel_init=nn.with_logical_partitioning(nn.initializers.lecun_normal(), ("embed", "hidden")),
        )(x)
        h = nn.with_logical_constraint(nn.gelu(h, approximate=False), ("batch", None, "hidden"))
        return x + nn.Dense(
            16,
            name="down",
            kernel_init=nn.with_logical_partitioning(nn.initializers.lecun_normal(), ("hidden", "embed")),
        )(h)


def numpy_block(p, x):
    h = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6) * p["norm"]["scale"] + p[
        "norm"
    ]["bias"]
    a = p["attention"]
    q, k, v = (
        np.einsum("bse,ehd->bshd", h, a[n]["kernel"]) + a[n]["bias"] for n in ("query", "key", "value")
    )
    weights = scipy.special.softmax(np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]), -1)
    x = (
        x
        + np.einsum("bqhd,hde->bqe", np.einsum("bhqk,bkhd->bqhd", weights, v), a["out"]["kernel"])
        + a["out"]["bias"]
    )
    h = x @ p["up"]["kernel"] + p["up"]["bias"]
    h = h * 0.5 * (1 + scipy.special.erf(h / np.sqrt(2)))
    return x + h @ p["down"]["kernel"] + p["down"]["bias"]


def attention():
    devices = mesh("data", "model")
    block, x = Block(), shard(X, "data", on=devices)
    shapes = jax.eval_shape(block.init, jax.random.key(0), jnp.zeros(X.shape))
    shardings = nn.logical_to_mesh_sharding(nn.get_partition_spec(shapes), devices, RULES)
    with devices, nn.logical_axis_rules(RULES):
        parameters = jax.jit(block.init, out_shardings=shardings)(jax.random.key(0), x)
        out = jax.jit(block.apply)(parameters, x)
    plain = jax.tree.map(lambda a: whole(a).astype(np.float64), nn.meta.unbox(parameters)["params"])
    split = (
        nn.meta.unbox(parameters)["params"]["up"]["kernel"].addressable_shards[0].data.shape[1]
        * devices.shape["model"]
    )
    return whole(out), numpy_block(plain, X.astype(np.float64)), split


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2)).reshape(x.shape[0], -1)
        return nn.Dense(2)(nn.Dropout(0.1, deterministic=not train)(x))


class State(train_state.TrainState):
    batch_stats: dict


def accuracy():
    """Which half of an 8 by 8 picture is brighter: separable, so that training has to reach nearly all."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 64)
    pictures = rng.normal(size=(64, 8, 8, 1)).astype(np.float32)
    pictures[labels == 1, :, :4] += 1.5
    x, y = shard(pictures, "data"), shard(labels, "data")
    model = Classifier()
    variables = model.init(jax.random.key(0), pictures[:1], train=False)
    state = State.create(
        apply_fn=model.apply,
        params=variables["params"],
        batch_stats=variables["batch_stats"],
        tx=optax.adam(1e-2),
    )

    @jax.jit
    def step(state, x, y, key):
        def loss(params):
            logits, new = state.apply_fn(
                {"params": params, "batch_stats": state.batch_stats},
                x,
                train=True,
                rngs={"dropout": key},
                mutable=["batch_stats"],
            )
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), (logits, new)

        gradient, (logits, new) = jax.grad(loss, has_aux=True)(state.params)
        return (
            state.apply_gradients(grads=gradient, batch_stats=new["batch_stats"]),
            (logits.argmax(-1) == y).mean(),
        )

    for i in range(25):
        state, right = step(state, x, y, jax.random.key(i))
    return right


def program():
    got, wanted, split = attention()
    return {"attention": (got, wanted, 2e-5), "split": (split, 32, 0), "accuracy": (accuracy(), 1.0, 0.05)}


if __name__ == "__main__":
    run(program)
