"""Diffrax: a batch of Lotka-Volterra orbits over the devices, a stiff system, an adjoint gradient and an SDE."""

from client import run, shard, whole
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate


def predators(t, y, args):
    return jnp.stack([y[0] * (1.5 - y[1]), y[1] * (y[0] - 3.0)])


def robertson(t, y, args):
    fast = 1e4 * y[1] * y[2]
    return jnp.stack([-0.04 * y[0] + fast, 0.04 * y[0] - fast - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])


def orbits():
    starts = np.random.default_rng(0).uniform(1, 2, size=(8, 2))

    def solve(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(predators),
            diffrax.Tsit5(),
            0.0,
            10.0,
            0.1,
            y0,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 10, 11)),
            stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
        ).ys

    ys = whole(jax.jit(jax.vmap(solve))(shard(starts, "data")))
    wanted = np.stack(
        [
            scipy.integrate.solve_ivp(
                lambda t, y: [y[0] * (1.5 - y[1]), y[1] * (y[0] - 3.0)],
                (0, 10),
                s,
                method="DOP853",
                t_eval=np.linspace(0, 10, 11),
                rtol=1e-11,
                atol=1e-11,
            ).y.T
            for s in starts
        ]
    )
    return ys, wanted


def stiff():
    y0 = np.array([1.0, 0.0, 0.0])
    got = diffrax.diffeqsolve(
        diffrax.ODETerm(robertson),
        diffrax.Kvaerno5(),
        0.0,
        100.0,
        1e-4,
        jnp.asarray(y0),
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10),
    ).ys[-1]
    wanted = scipy.integrate.solve_ivp(
        lambda t, y: np.asarray(
            [
                -0.04 * y[0] + 1e4 * y[1] * y[2],
                0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                3e7 * y[1] ** 2,
            ]
        ),
        (0, 100),
        y0,
        method="Radau",
        rtol=1e-10,
        atol=1e-12,
    ).y[:, -1]
    return got, wanted


def gradient(adjoint):
    """d/da of y(1) = e^a."""

    def end(a):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, a: a * y),
            diffrax.Dopri5(),
            0.0,
            1.0,
            0.01,
            jnp.array(1.0),
            args=a,
            stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
            adjoint=adjoint,
        ).ys[-1]

    return jax.jit(jax.grad(end))(0.7)


def ornstein_uhlenbeck():
    """dx = -x dt + dw from 0: at time 2 the variance is (1 - e^-4) / 2."""

    def end(key):
        noise = diffrax.VirtualBrownianTree(0.0, 2.0, tol=1e-2, shape=(), key=key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, x, _: -x), diffrax.ControlTerm(lambda t, x, _: jnp.array(1.0), noise)
        )
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 2.0, 0.05, jnp.array(0.0)).ys[-1]

    return np.var(jax.jit(jax.vmap(end))(jax.random.split(jax.random.key(0), 2000)))


def program():
    jax.config.update("jax_enable_x64", True)
    return {
        "orbits": (*orbits(), 1e-6),
        "stiff": (*stiff(), 1e-6),
        "gradient, checkpoints": (gradient(diffrax.RecursiveCheckpointAdjoint()), np.exp(0.7), 1e-6),
        "gradient, backsolve": (gradient(diffrax.BacksolveAdjoint()), np.exp(0.7), 1e-6),
        "variance": (ornstein_uhlenbeck(), (1 - np.exp(-4)) / 2, 0.06),
    }


if __name__ == "__main__":
    run(program)
