"""Programs whose floats are moved by a few units of their last place: what rounding alone can do to a result."""

import jax
import jax.numpy as jnp
import numpy as np
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
    return _moved_program(closed, random, arguments=True)


def _moved_program(closed, random, arguments=False):
    def run(*values):
        values = [_moved(v, random) for v in values] if arguments else values
        return _evaluate(closed.jaxpr, closed.consts, values, random)

    return jax.make_jaxpr(run)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
                                 for v in closed.jaxpr.invars))


def _evaluate(jaxpr, consts, arguments, random):
    known = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, arguments))
    for equation in jaxpr.eqns:
        operands = [v.val if hasattr(v, "val") else known[v] for v in equation.invars]
        parameters = equation.primitive.get_bind_params(_with_moved_regions(equation, random))
        results = equation.primitive.bind(*operands, **parameters)
        results = results if equation.primitive.multiple_results else [results]
        name = equation.primitive.name
        rounds = name not in EXACT and name not in CONTROL
        known.update(zip(equation.outvars, [_moved(r, random) if rounds else r for r in results]))
    return [v.val if hasattr(v, "val") else known[v] for v in jaxpr.outvars]


def _with_moved_regions(equation, random):
    def moved(value):
        if isinstance(value, ClosedJaxpr):
            return _moved_program(value, random)
        return tuple(map(moved, value)) if isinstance(value, tuple) else value

    if equation.primitive.name not in CONTROL:
        return equation.params
    return {name: moved(value) for name, value in equation.params.items()}


def _moved(value, random):
    if not hasattr(value, "dtype") or not jnp.issubdtype(value.dtype, jnp.inexact) or value.size >= MOST:
        return value
    shift = random.uniform(-1, 1, value.shape) * UNITS * float(jnp.finfo(value.dtype).eps)
    return value * jnp.asarray(1 + shift, value.dtype)
