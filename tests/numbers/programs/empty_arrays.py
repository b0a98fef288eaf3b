"""Arrays without elements, where a library would refuse them: NumPy says what comes out."""

import jax
import jax.numpy as jnp
import numpy as np

FUNCTIONS = ["cholesky", "eigvals", "eigh", "qr", "svd", "inv", "det", "slogdet"]

for shape in [(0, 0), (0, 3, 3), (2, 0, 0)]:
    x = np.zeros(shape, np.float32)
    for name in FUNCTIONS:
        got = jax.tree.leaves(jax.jit(getattr(jnp.linalg, name))(x))
        want = jax.tree.leaves(tuple(getattr(np.linalg, name)(x))) if name != "det" else [np.linalg.det(x)]
        if name in ("cholesky", "eigvals", "inv"):
            want = [getattr(np.linalg, name)(x)]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w, name)
