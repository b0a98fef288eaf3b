"""Programs whose floats are changed on the way, to see what a difference of results comes from.

disturbed() moves them by a few units of their last place: what rounding alone can do to a result; and it draws the sign of
what is no number, which nobody promises and sorts go by. flushed() makes zeros of subnormal numbers, as jaxlib does on the CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

UNITS = 4  # of the last place
MOST = 1 << 20  # elements of an array that is moved
# Operations that do not round: what they give of numbers that were moved is moved already, and copies stay copies.
EXACT = frozenset("""abs broadcast_in_dim clamp concatenate conj copy cummax cummin dynamic_slice dynamic_update_slice
    gather imag iota max min neg pad real reduce_max reduce_min reduce_window_max reduce_window_min reshape rev scatter
    scatter-max scatter-min select_n sign slice sort split squeeze stop_gradient tile top_k transpose""".split())
# Whose inner programs are moved inside; other regions are those of reductions and the like.
CONTROL = frozenset("cond jit pjit scan while closed_call remat checkpoint".split())


def disturbed(closed, seed):
    """The program of a closed jaxpr, with its arguments and each number that it rounds moved at random."""
    random = np.random.default_rng(seed)

    def change(value, rounds):
        return _with_drawn_sign(_moved(value, random) if rounds else value, random)

    return _changed_program(closed, change, arguments=True)


def flushed(closed):
    """The program of a closed jaxpr, with zeros for the subnormal numbers that it is given or makes."""
    return _changed_program(closed, lambda value, rounds: _without_subnormals(value) if rounds else value, arguments=True)


def _changed_program(closed, change, arguments=False):
    def run(*values):
        values = [change(v, True) for v in values] if arguments else values
        return _evaluate(closed.jaxpr, closed.consts, values, change)

    return jax.make_jaxpr(run)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
                                 for v in closed.jaxpr.invars))


def _evaluate(jaxpr, consts, arguments, change):
    known = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, arguments))
    for equation in jaxpr.eqns:
        operands = [v.val if hasattr(v, "val") else known[v] for v in equation.invars]
        parameters = equation.primitive.get_bind_params(_with_changed_regions(equation, change))
        results = equation.primitive.bind(*operands, **parameters)
        results = results if equation.primitive.multiple_results else [results]
        name = equation.primitive.name
        rounds = name not in EXACT and name not in CONTROL
        known.update(zip(equation.outvars, [change(r, rounds) for r in results]))
    return [v.val if hasattr(v, "val") else known[v] for v in jaxpr.outvars]


def _with_changed_regions(equation, change):
    def changed(value):
        if isinstance(value, ClosedJaxpr):
            return _changed_program(value, change)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    if equation.primitive.name not in CONTROL:
        return equation.params
    return {name: changed(value) for name, value in equation.params.items()}


def _moved(value, random):
    if not hasattr(value, "dtype") or not jnp.issubdtype(value.dtype, jnp.inexact) or value.size >= MOST:
        return value
    shift = random.uniform(-1, 1, value.shape) * UNITS * float(jnp.finfo(value.dtype).eps)
    return value * jnp.asarray(1 + shift, value.dtype)


def _with_drawn_sign(value, random):
    if not hasattr(value, "dtype") or not jnp.issubdtype(value.dtype, jnp.floating) or value.size >= MOST:
        return value
    nan = np.copysign(np.nan, random.uniform(-1, 1, value.shape))
    return lax.select(lax.ne(value, value), jnp.asarray(nan, value.dtype), value)


def _without_subnormals(value):
    if not hasattr(value, "dtype"):
        return value
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        return lax.complex(_without_subnormals(lax.real(value)), _without_subnormals(lax.imag(value)))
    if value.dtype not in (jnp.bfloat16, jnp.float32, jnp.float64):
        return value  # the subnormal numbers of smaller types are normal ones in f32, in which they are computed
    small = lax.abs(value) < float(jnp.finfo(value.dtype).tiny)
    return lax.select(small, jnp.copysign(jnp.zeros_like(value), value), value)
