"""e3nn: rotating the input of an equivariant layer rotates its output; spherical harmonics against SciPy's."""

from client import run, shard, whole
import e3nn_jax as e3nn
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from scipy.spatial.transform import Rotation

POINTS = np.random.default_rng(0).normal(size=(8, 3))


def layer(x):
    """Of vectors: their harmonics, tensor products with themselves, and a nonlinearity of the scalars."""
    harmonics = e3nn.spherical_harmonics([1, 2], e3nn.IrrepsArray("1o", x), normalize=False)
    product = e3nn.tensor_product(harmonics, harmonics, filter_ir_out=["0e", "1o", "2e"])
    return e3nn.scalar_activation(product, even_act=jnp.tanh)


def equivariance():
    rotation = Rotation.from_euler("zyx", [0.3, -1.1, 0.7]).as_matrix()
    f = jax.jit(layer)
    turned_after = f(shard(POINTS, "data")).transform_by_matrix(jnp.asarray(rotation))
    return f(shard(POINTS @ rotation.T, "data")).array, turned_after.array


def harmonics():
    """|Y_2m| of SciPy, whose convention has another axis and order: the sums of squares of each degree are convention-free."""
    unit = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    got = jnp.sum(
        e3nn.spherical_harmonics(2, e3nn.IrrepsArray("1o", shard(unit, "data")), True).array[:, None] ** 2, -1
    )
    polar, azimuth = np.arccos(unit[:, 2]), np.arctan2(unit[:, 1], unit[:, 0])
    sums = sum(np.abs(scipy.special.sph_harm_y(2, m, polar, azimuth)) ** 2 for m in range(-2, 3))
    return got[:, 0], sums * 4 * np.pi


def program():
    jax.config.update("jax_enable_x64", True)
    turned_before, turned_after = equivariance()
    return {"equivariance": (turned_before, whole(turned_after), 1e-6), "harmonics": (*harmonics(), 1e-6)}


if __name__ == "__main__":
    run(program)
