"""JAXopt: logistic regression on sharded data, a projection, a quadratic program and a fixed point, against SciPy."""

from client import run, shard
import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
import scipy.optimize

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 4))
LABELS = (X @ np.array([1.0, -1.0, 0.5, 0.0]) + RNG.normal(size=64) > 0).astype(float)


def logistic():
    def loss(w, x, y):
        return jnp.mean(jnp.logaddexp(0, x @ w) - y * (x @ w)) + 0.05 * w @ w

    f = lambda w: np.mean(np.logaddexp(0, X @ w) - LABELS * (X @ w)) + 0.05 * w @ w
    x, y = shard(X, "data"), shard(LABELS, "data")
    wanted = scipy.optimize.minimize(f, np.zeros(4), tol=1e-12).x
    solvers = [
        jaxopt.LBFGS(loss, tol=1e-9),
        jaxopt.BFGS(loss, tol=1e-9),
        jaxopt.GradientDescent(loss, tol=1e-9, maxiter=2000),
    ]
    return jnp.stack([s.run(jnp.zeros(4), x=x, y=y).params for s in solvers]), np.tile(wanted, (3, 1))


def simplex():
    """The projection of v on the simplex: v - t, cut at zero, for the t that makes the sum one."""
    v = np.array([0.5, 1.2, -0.3, 0.8])
    t = scipy.optimize.brentq(lambda t: np.maximum(v - t, 0).sum() - 1, -5, 5)
    return jax.jit(jaxopt.projection.projection_simplex)(v), np.maximum(v - t, 0)


def quadratic():
    q, c, a, b = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5]), np.ones((1, 3)), np.array([1.0])
    system = np.block([[q, a.T], [a, np.zeros((1, 1))]])
    solution = jaxopt.EqualityConstrainedQP().run(params_obj=(q, c), params_eq=(a, b)).params.primal
    return solution, np.linalg.solve(system, np.concatenate([-c, b]))[:3]


def fixed_point():
    """x = cos(a x), and dx/da through the implicit function theorem: -x sin(a x) / (1 + a sin(a x))."""

    def solve(a):
        return (
            jaxopt.AndersonAcceleration(lambda x, a: jnp.cos(a * x), tol=1e-12)
            .run(jnp.array([0.5]), a)
            .params[0]
        )

    x = scipy.optimize.brentq(lambda x: x - np.cos(0.9 * x), 0, 1)
    return jnp.stack(jax.value_and_grad(solve)(0.9)), [x, -x * np.sin(0.9 * x) / (1 + 0.9 * np.sin(0.9 * x))]


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "logistic": (*logistic(), 1e-5),
        "simplex": (*simplex(), 1e-9),
        "quadratic": (*quadratic(), 1e-6),
        "fixed point": (*fixed_point(), 1e-7),
    }


if __name__ == "__main__":
    run(program)
