"""Lowering rules of JAX that Shoal replaces for its platform, because what jaxlib makes of JAX's own loses something."""


def register() -> None:
    """For platform cpu, which is what JAX calls Shoal's devices in its lowering rules."""
    from jax import lax
    from jax._src.interpreters import mlir

    default = mlir._lowerings[lax.sqrt_p].rule
    mlir.register_lowering(lax.sqrt_p, lambda ctx, x, **params: _sqrt(default, ctx, x, **params), platform="cpu")


def _sqrt(default, ctx, x, **params):
    """On its way to any plugin, jaxlib expands a complex square root into real operations that take the sign of the
    imaginary part from `imag(x) < 0`: sqrt(-1 - 0j) is then 1j. NumPy and C say -1j, and so does this.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax._src.interpreters import mlir

    root = default(ctx, x, **params)
    aval = ctx.avals_out[0]
    if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
        return root

    def with_sign(root, x):
        return lax.complex(lax.real(root), jnp.copysign(lax.imag(root), lax.imag(x)))

    signed = mlir.lower_fun(with_sign, multiple_results=False)
    return signed(ctx.replace(primitive=None, avals_in=[aval, *ctx.avals_in]), *root, x)
