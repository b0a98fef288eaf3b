"""Lowering rules of JAX that Shoal replaces for its platform, because what jaxlib makes of JAX's own loses something."""


def register() -> None:
    """For platform cpu, which is what JAX calls Shoal's devices in its lowering rules."""
    from jax import lax
    from jax._src.interpreters import mlir

    default = mlir._lowerings[lax.sqrt_p].rule
    mlir.register_lowering(lax.sqrt_p, lambda ctx, x, **params: _sqrt(default, ctx, x, **params), platform="cpu")
    for primitive in (lax.erf_p, lax.erfc_p):
        _compute_small_floats_in_f32(primitive)


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


def _compute_small_floats_in_f32(primitive):
    """jaxlib fails to write the error functions of floats of 4 and 8 bits in StableHLO, so no plugin ever gets them."""
    import jax.numpy as jnp
    from jax import lax
    from jax._src.interpreters import mlir

    default = mlir._lowerings[primitive].rule

    def lower(ctx, x, **params):
        dtype = ctx.avals_in[0].dtype
        if dtype.itemsize > 1:
            return default(ctx, x, **params)

        def wide(x):
            return lax.convert_element_type(primitive.bind(lax.convert_element_type(x, jnp.float32), **params), dtype)

        return mlir.lower_fun(wide, multiple_results=False)(ctx, x)

    mlir.register_lowering(primitive, lower, platform="cpu")
