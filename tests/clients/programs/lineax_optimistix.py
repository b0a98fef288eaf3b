"""Lineax and Optimistix: linear solves and least squares, batched over the devices, against NumPy and SciPy."""

from client import run, shard
import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import optimistix as optx
import scipy.optimize

RNG = np.random.default_rng(0)
A = RNG.normal(size=(8, 5, 5)) + 4 * np.eye(5)
B = RNG.normal(size=(8, 5))
TIMES = np.linspace(0, 3, 20)
DECAYS = np.array(
    [[a * np.exp(-k * t) + 0.02 * np.sin(9 * t) for t in TIMES] for a, k in RNG.uniform(0.5, 2, size=(8, 2))]
)


def solve(solver, *, symmetric=False):
    matrices = np.einsum("bij,bkj->bik", A, A) if symmetric else A
    tags = lx.positive_semidefinite_tag if symmetric else ()

    def one(a, b):
        return lx.linear_solve(lx.MatrixLinearOperator(a, tags), b, solver).value

    return (
        jax.jit(jax.vmap(one))(shard(matrices, "data"), shard(B, "data")),
        np.linalg.solve(matrices, B[..., None])[..., 0],
    )


def rectangular():
    tall = A[:, :, :3]
    one = lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.QR()).value
    return jax.jit(jax.vmap(one))(shard(tall, "data"), shard(B, "data")), np.stack(
        [np.linalg.lstsq(a, b)[0] for a, b in zip(tall, B)]
    )


def fits():
    def residual(p, y):
        return p[0] * jnp.exp(-p[1] * TIMES) - y

    def one(y):
        return optx.least_squares(
            residual, optx.LevenbergMarquardt(rtol=1e-10, atol=1e-10), jnp.ones(2), args=y
        ).value

    wanted = [
        scipy.optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * TIMES) - y, np.ones(2), xtol=1e-12).x
        for y in DECAYS
    ]
    return jax.jit(jax.vmap(one))(shard(DECAYS, "data")), np.stack(wanted)


def root_and_gradient():
    """x^3 = a: the root, and through the implicit function theorem its derivative."""

    def root(a):
        return optx.root_find(
            lambda x, a: x**3 - a, optx.Newton(rtol=1e-12, atol=1e-12), jnp.array(1.5), args=a
        ).value

    return jnp.stack(jax.jit(jax.value_and_grad(root))(5.0)), [5 ** (1 / 3), 5 ** (-2 / 3) / 3]


def minima():
    rosenbrock = lambda x, _: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    ends = [
        optx.minimise(rosenbrock, s(rtol=1e-9, atol=1e-9), jnp.zeros(2), max_steps=3000).value
        for s in (optx.BFGS, optx.NelderMead)
    ]
    return jnp.stack(ends), np.ones((2, 2))


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "LU": (*solve(lx.LU()), 1e-10),
        "SVD": (*solve(lx.SVD()), 1e-10),
        "Cholesky": (*solve(lx.Cholesky(), symmetric=True), 1e-9),
        "CG": (*solve(lx.CG(rtol=1e-11, atol=1e-11), symmetric=True), 1e-7),
        "GMRES": (*solve(lx.GMRES(rtol=1e-11, atol=1e-11)), 1e-7),
        "QR": (*rectangular(), 1e-10),
        "Levenberg-Marquardt": (*fits(), 1e-6),
        "Newton": (*root_and_gradient(), 1e-9),
        "minima": (*minima(), 1e-3),
    }


if __name__ == "__main__":
    run(program)
