"""Complex functions on their branch cuts, where the sign of a zero chooses the side. The oracle is NumPy."""

import jax
import jax.numpy as jnp
import numpy as np

ZEROS = (0.0, -0.0)


def check_sqrt():
    parts = (0.0, -0.0, 1.0, -1.0, 3.0, -2.25e10, np.inf, -np.inf)
    z = np.array([complex(re, im) for re in parts for im in (*ZEROS, 2.0, -2.0)])
    for dtype in (np.complex64, np.complex128):
        for root in (jax.jit(jnp.sqrt), jnp.sqrt, jax.jit(jax.vmap(jnp.sqrt))):
            got, want = np.asarray(root(z.astype(dtype))), np.sqrt(z.astype(dtype))
            np.testing.assert_allclose(got, want, rtol=1e-6)
            np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(want.imag), str(z))


def check_sqrt_differentiates():
    slope = jax.jit(jax.grad(jnp.sqrt, holomorphic=True))(np.complex64(complex(-4, -0.0)))
    np.testing.assert_allclose(slope, 0.5 / np.sqrt(complex(-4, -0.0)), rtol=1e-6)


def check_log():
    z = np.array([complex(-2, im) for im in ZEROS], np.complex64)
    np.testing.assert_allclose(np.asarray(jax.jit(jnp.log)(z)), np.log(z), rtol=1e-6)


def check_all_functions():
    """Among finite numbers every function is NumPy's, the sign of each zero too."""
    parts = (*ZEROS, 1.0, -1.0, 0.5, 3.0, -2.0)
    z = np.array([complex(re, im) for re in parts for im in parts])
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    for name in ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", *names):
        for dtype, tolerance in ((np.complex64, 1e-6), (np.complex128, 1e-14)):
            with np.errstate(all="ignore"):
                want = getattr(np, names.get(name, name))(z.astype(dtype))
            got = np.asarray(jax.jit(getattr(jax.lax, name))(z.astype(dtype)))
            for part in (np.real, np.imag):
                np.testing.assert_allclose(part(got), part(want), rtol=tolerance, atol=tolerance, err_msg=name)
                zero = (part(got) == 0) & (part(want) == 0)
                differ = zero & (np.signbit(part(got)) != np.signbit(part(want)))
                assert not differ.any(), f"{name}: signs of zeros at {z[differ]}"


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
