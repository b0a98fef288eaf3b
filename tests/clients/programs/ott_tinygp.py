"""OTT and tinygp: optimal transport between sharded clouds of points against SciPy's assignment, and a Gaussian process."""

from client import run, shard
import jax
import numpy as np
import scipy.optimize
import scipy.spatial
import scipy.stats
import tinygp
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

RNG = np.random.default_rng(0)


def transport():
    """With little regularisation the cost is nearly that of the best assignment."""
    x, y = RNG.normal(size=(16, 2)), RNG.normal(size=(16, 2)) + 1

    @jax.jit
    def cost(x, y):
        geometry = pointcloud.PointCloud(x, y, epsilon=5e-3)
        return sinkhorn.Sinkhorn(threshold=1e-6, max_iterations=5000)(
            linear_problem.LinearProblem(geometry)
        ).primal_cost

    squared = scipy.spatial.distance.cdist(x, y, "sqeuclidean")
    return (
        cost(shard(x, "data"), shard(y, "data")),
        squared[scipy.optimize.linear_sum_assignment(squared)].mean(),
    )


def process():
    x, y = np.sort(RNG.uniform(0, 3, size=9)), RNG.normal(size=9)
    got = jax.jit(
        lambda y: tinygp.GaussianProcess(1.5 * tinygp.kernels.Matern32(0.7), x, diag=0.2).log_probability(y)
    )(y)
    d = np.sqrt(3) * np.abs(x[:, None] - x) / 0.7
    covariance = 1.5 * (1 + d) * np.exp(-d) + 0.2 * np.eye(9)
    return got, scipy.stats.multivariate_normal(np.zeros(9), covariance).logpdf(y)


def program():
    jax.config.update("jax_enable_x64", True)
    return {"transport": (*transport(), 0.02), "process": (*process(), 1e-8)}


if __name__ == "__main__":
    run(program)
