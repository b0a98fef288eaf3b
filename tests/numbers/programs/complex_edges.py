"""Complex functions of infinite parts and of what is no number: C's Annex G, which NumPy follows."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan]
FUNCTIONS = ["exp", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
             "arcsinh", "arccosh", "arctanh", "abs", "expm1"]


def same(got, want):
    """Equal to a few digits; where a part is infinite its sign may be left open."""
    return (np.abs(got - want) <= 1e-5 * np.abs(want)) | (np.abs(got) == np.abs(want)) | (np.isnan(got) & np.isnan(want))


def check(name, got, want, *arguments):
    good = same(got.real, want.real) & same(got.imag, want.imag)
    wrong = [f"{name}{[a[i] for a in arguments]}: {got[i]}, not {want[i]}" for i in np.nonzero(~good)[0][:5]]
    assert not wrong, "\n".join(wrong)


np.seterr(all="ignore")
for dtype in (np.complex64, np.complex128):
    z = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)], dtype)
    for name in FUNCTIONS:
        check(name, np.asarray(jax.jit(getattr(jnp, name))(z)), getattr(np, name)(z), z)
    # A power of zero is a number for a positive real exponent, and for none.
    zero = np.array([0, -0.0, complex(-0.0, -0.0)], dtype)
    for exponent in (0, 2.5, -1, 1j, 1 + 1j, -1j):
        e = np.full_like(zero, exponent)
        check("power", np.asarray(jax.jit(jnp.power)(zero, e)), np.power(zero, e), zero, e)
