"""Lowering rules of JAX that Shoal replaces for its platform, because what jaxlib makes of JAX's own loses something."""

import ml_dtypes
import numpy as np


def register() -> None:
    """For platform cpu, which is what JAX calls Shoal's devices in its lowering rules."""
    import jax.numpy as jnp
    from jax import lax
    from jax._src.lib.mlir.dialects import hlo

    from shoal import special_functions

    def special(name, dtype):
        function = getattr(special_functions, name)
        return _in_wider(lambda x, **params: function(x), dtype)

    f32_or_less = [jnp.float32, jnp.bfloat16, jnp.float16, *_SMALL_FLOATS]
    c64 = [jnp.complex64]
    _replace(lax.sqrt_p, [jnp.complex64, jnp.complex128], _sqrt)
    _replace(lax.erf_p, _SMALL_FLOATS, _in_wider(lax.erf_p.bind, jnp.float32))
    for name in ("erf_inv", "erfc"):
        _replace(getattr(lax, f"{name}_p"), f32_or_less, special(name, jnp.float64))
    _replace(lax.erfc_p, [jnp.float64], special("erfc_of_double", jnp.float64))
    for name in ("bessel_i0e", "bessel_i1e", "digamma", "exp2", "lgamma"):
        _replace(getattr(lax, f"{name}_p"), [jnp.float64, *f32_or_less], special(name, jnp.float64))
    # JAX's 1 / (1 + exp(-x)) is 0 where the exponential overflows.
    _replace(lax.logistic_p, [jnp.float64, *f32_or_less], lambda default, ctx, x, **params: [hlo.logistic(x)])
    for name in ("logistic", "sinh", "cosh"):
        _replace(getattr(lax, f"{name}_p"), [jnp.complex128, *c64], special(name, jnp.complex128))
    for primitive in (lax.pow_p, lax.rsqrt_p, lax.tan_p, lax.tanh_p):
        _replace(primitive, c64, _in_wider(primitive.bind, jnp.complex128))


# jaxlib fails to write the error functions of floats of 4 and 8 bits in StableHLO, so no plugin ever gets them.
_SMALL_FLOATS = [dtype for name in dir(ml_dtypes) if name.startswith("float") for dtype in [getattr(ml_dtypes, name)]]


def _sqrt(default, ctx, x, **params):
    """On its way to any plugin, jaxlib expands a complex square root into real operations that take the sign of the
    imaginary part from `imag(x) < 0`: sqrt(-1 - 0j) is then 1j. NumPy and C say -1j, and so does this.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax._src.interpreters import mlir

    root = default(ctx, x, **params)
    aval = ctx.avals_out[0]

    def with_sign(root, x):
        return lax.complex(lax.real(root), jnp.copysign(lax.imag(root), lax.imag(x)))

    signed = mlir.lower_fun(with_sign, multiple_results=False)
    return signed(ctx.replace(primitive=None, avals_in=[aval, *ctx.avals_in]), *root, x)


def _replace(primitive, dtypes, rule) -> None:
    """From now on rule(default, context, *operands, **params) lowers what has a result of one of `dtypes`."""
    from jax._src.interpreters import mlir

    now = mlir._platform_specific_lowerings["cpu"].get(primitive, mlir._lowerings.get(primitive)).rule
    dtypes = [np.dtype(dtype) for dtype in dtypes]

    def lower(ctx, *operands, **params):
        if ctx.avals_out[0].dtype not in dtypes:
            return now(ctx, *operands, **params)
        return rule(now, ctx, *operands, **params)

    mlir.register_lowering(primitive, lower, platform="cpu")


def _in_wider(function, dtype):
    """The rule that computes function(*operands, **params) in `dtype`, whatever jax_enable_x64 says."""
    from jax import lax
    from jax._src import config, core
    from jax._src.interpreters import mlir

    def rule(default, ctx, *operands, **params):
        result = ctx.avals_out[0]
        # Shapes and types alone: how an array is sharded is no matter of its elements.
        avals = [core.ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_in]

        def wide(*operands):
            value = function(*(lax.convert_element_type(x, dtype) for x in operands), **params)
            return lax.convert_element_type(value, result.dtype)

        with config.enable_x64(True):
            return mlir.lower_fun(wide, multiple_results=False)(ctx.replace(primitive=None, avals_in=avals), *operands)

    return rule
