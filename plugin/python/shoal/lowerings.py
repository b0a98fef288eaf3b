"""Lowering rules of JAX that Shoal replaces for its platform, because what jaxlib makes of JAX's own loses something."""

import ml_dtypes
import numpy as np


def register() -> None:
    """For platform cpu, which is what JAX calls Shoal's devices in its lowering rules."""
    import jax.numpy as jnp
    from jax import lax
    from jax._src.lib.mlir.dialects import hlo

    from shoal import complex_edges, special_functions

    def special(name, dtype):
        function = getattr(special_functions, name)
        return _in_wider(lambda x, **params: function(x), dtype)

    f32_or_less = [jnp.float32, jnp.bfloat16, jnp.float16, *_SMALL_FLOATS]
    complex_types = [jnp.complex64, jnp.complex128]
    for primitive in (lax.asin_p, lax.asinh_p, lax.atan_p, lax.atanh_p):
        _replace(primitive, complex_types, _with_signs(1, 1))
    for primitive, imaginary in ((lax.sqrt_p, 1), (lax.acos_p, -1), (lax.acosh_p, 1)):
        _replace(primitive, complex_types, _with_signs(0, imaginary))
    _replace(lax.exp_p, complex_types, _then(_exp_on_axis))
    _replace(lax.erf_p, _SMALL_FLOATS, _in_wider(lax.erf_p.bind, jnp.float32))
    for name in ("erf_inv", "exp2"):
        _replace(getattr(lax, f"{name}_p"), f32_or_less, special(name, jnp.float32))
    _replace(lax.exp2_p, [jnp.float64], special("exp2", jnp.float64))
    _replace(lax.erfc_p, f32_or_less, special("erfc", jnp.float64))
    in_double = ("digamma", "lgamma", "bessel_i0e", "bessel_i1e")
    for name in ("erfc", "erf_inv", *in_double):
        _replace(getattr(lax, f"{name}_p"), [jnp.float64], special(f"{name}_of_double", jnp.float64))
    for name in in_double:
        _replace(getattr(lax, f"{name}_p"), f32_or_less, special(name, jnp.float64))
    # JAX's 1 / (1 + exp(-x)) is 0 where the exponential overflows.
    _replace(lax.logistic_p, [jnp.float64, *f32_or_less], lambda default, ctx, x, **params: [hlo.logistic(x)])
    for name in ("logistic", "sinh", "cosh", "sin", "cos"):
        _replace(getattr(lax, f"{name}_p"), complex_types, special(name, jnp.complex128))
    for name in ("exp", "log", "log1p", "sqrt", "tan", "tanh", "asin", "asinh", "acos", "acosh", "atan", "atanh"):
        _replace(getattr(lax, f"{name}_p"), complex_types, _then(getattr(complex_edges, name)))
    for primitive in (lax.pow_p, lax.rsqrt_p, lax.tan_p, lax.tanh_p):
        _replace(primitive, [jnp.complex64], _in_wider(primitive.bind, jnp.complex128))
    _take_from_gpu("pbroadcast_p", "pbroadcast_start_p")


def _take_from_gpu(*names) -> None:
    """Primitives of jax.lax.parallel whose rule JAX gives to GPUs alone, though it says nothing of them."""
    from jax._src.interpreters import mlir
    from jax._src.lax import parallel

    for name in names:
        primitive = getattr(parallel, name, None)
        entry = mlir._platform_specific_lowerings["cuda"].get(primitive)
        if entry is not None and primitive not in mlir._platform_specific_lowerings["cpu"]:
            mlir.register_lowering(primitive, entry.rule, platform="cpu", inline=entry.inline)


# jaxlib fails to write the error functions of floats of 4 and 8 bits in StableHLO, so no plugin ever gets them.
_SMALL_FLOATS = [getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith("float")]


def _with_signs(real, imaginary):
    """jaxlib expands complex functions into real operations that take signs from `imag(x) < 0`: sqrt(-1 - 0j) is then
    1j, and asin(3 - 0j) is on the wrong side of its branch cut. NumPy and C tell -0 from 0, and so does this. The parts
    of the result get the signs of the argument's parts, times `real` and `imaginary`; 0 leaves a part as it is.
    """
    import jax.numpy as jnp
    from jax import lax

    def sign(part, of, factor):
        return jnp.copysign(part, factor * of) if factor else part

    def signed(value, x):
        return lax.complex(
            sign(lax.real(value), lax.real(x), real), sign(lax.imag(value), lax.imag(x), imaginary)
        )

    return _then(signed)


def _exp_on_axis(value, x):
    """exp(x - 0j) is real, and keeps its -0j."""
    from jax import lax

    return lax.complex(lax.real(value), lax.select(lax.imag(x) == 0, lax.imag(x), lax.imag(value)))


def _then(function):
    """The rule that computes function(default's value, x)."""
    from jax._src import core
    from jax._src.interpreters import mlir

    def rule(default, ctx, x, **params):
        value = default(ctx, x, **params)
        avals = [core.ShapedArray(aval.shape, aval.dtype) for aval in (*ctx.avals_out, *ctx.avals_in)]
        return mlir.lower_fun(function, multiple_results=False)(ctx.replace(primitive=None, avals_in=avals), *value, x)

    return rule


def _replace(primitive, dtypes, rule) -> None:
    """From now on rule(default, context, *operands, **params) lowers what has a result of one of `dtypes`.

    Where JAX has one rule for all platforms it stays one: exported for several of them, a program would else compute
    every such operation once a platform, in a conditional. There it is JAX's own.
    """
    from jax._src.interpreters import mlir

    of_cpu = mlir._platform_specific_lowerings["cpu"].get(primitive)
    entry = of_cpu or mlir._lowerings[primitive]
    dtypes = [np.dtype(dtype) for dtype in dtypes]

    def lower(ctx, *operands, **params):
        platforms = tuple(ctx.platforms or ctx.module_context.platforms)
        if platforms != ("cpu",) or ctx.avals_out[0].dtype not in dtypes:
            return entry.rule(ctx, *operands, **params)
        return rule(entry.rule, ctx, *operands, **params)

    mlir.register_lowering(primitive, lower, platform="cpu" if of_cpu else None, inline=entry.inline)


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
            ctx = _with_wide_dimensions(ctx.replace(primitive=None, avals_in=avals))
            return mlir.lower_fun(wide, multiple_results=False)(ctx, *operands)

    return rule


def _with_wide_dimensions(ctx):
    """Unknown dimensions of exported programs are int64 where jax_enable_x64 holds, int32 elsewhere; `ctx` has the
    outer ones. What JAX keeps of operations that it has lowered is of one kind, so the inner ones begin anew.
    """
    from jax._src import core
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir.dialects import hlo

    if not ctx.dim_var_values:
        return ctx
    wide = mlir.ir.RankedTensorType.get([], mlir.dtype_to_ir_type(core.dim_value_dtype()))
    return ctx.replace(
        dim_var_values=[hlo.convert(wide, value) for value in ctx.dim_var_values],
        module_context=ctx.module_context.replace(lowering_cache={}, cached_primitive_lowerings={}),
    )
