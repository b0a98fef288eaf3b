"""Random programs of JAX: what a seed stands for.

A Program is a list of nodes, each a function of values before it. Operations come from the table OPERATIONS
(random_operations.py, random_gathers.py and random_regions.py fill it); one that JAX refuses for the operands it drew is
dropped, so what is left is valid.
"""

import dataclasses
import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from random_values import COMPLEX, FLOATS, INTEGERS, TYPES, Source, kind

OPERATIONS = []  # (weight, name, function of a Draft that gives (operands, function of their values), or None)
REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError, IndexError, OverflowError, ZeroDivisionError)


def operation(weight):
    """Puts a function of a Draft into the table of operations."""
    def put(make):
        OPERATIONS.append((weight, make.__name__, make))
        return make
    return put


@dataclasses.dataclass
class Node:
    name: str
    operands: tuple
    function: Callable


class Program:
    """Values 0 to n-1 are the arguments; value n+i is that of node i."""

    def __init__(self, arguments, nodes, outputs):
        self.arguments, self.nodes, self.outputs = arguments, nodes, outputs
        self.function = jax.jit(self.run)

    def run(self, *arguments):
        values = list(arguments)
        for node in self.nodes:
            values.append(node.function(*(values[o] for o in node.operands)))
        return tuple(values[o] for o in self.outputs)

    def cone(self, output):
        """The same program for one value alone."""
        return Program(self.arguments, self.nodes, [output])

    def names(self):
        return [node.name for node in self.nodes]


class Draft:
    """A program that grows: operations draw operands from it."""

    def __init__(self, source, parameters=(), depth=0):
        """`parameters`: the avals of a region's; the region's own draft is one level deeper."""
        self.source, self.depth = source, depth
        self.avals, self.nodes = list(parameters), []

    def pick(self, accept=lambda aval: True):
        """A value that exists, the newest more often; a new argument where none is accepted."""
        fitting = [i for i, aval in enumerate(self.avals) if accept(aval)]
        if fitting and not self.source.chance(0.1):
            return self.source.choice(fitting[-4:] if self.source.chance(0.7) else fitting)
        for _ in range(40):
            aval = jax.ShapeDtypeStruct(self.source.shape(), jnp.dtype(self.source.choice(TYPES)))
            if accept(aval):
                return self.fresh(aval.shape, aval.dtype)
        return self.source.choice(fitting) if fitting else None

    def of_kind(self, *kinds):
        found = self.pick(lambda aval: kind(aval.dtype) in kinds)
        if found is not None:
            return found
        types = {"float": FLOATS, "complex": COMPLEX, "bool": ["bool"]}.get(kinds[0], INTEGERS)
        return self.fresh(self.source.shape(), self.source.choice(types))

    def fresh(self, shape, dtype, array=None):
        """A new value: an argument; a constant inside a region."""
        array = self.source.array(shape, dtype) if array is None else array
        if self.depth:
            return self.add("constant", (), lambda: jnp.asarray(array))
        return self.add("argument", (), Argument(array))

    def like(self, index, shape=None, dtype=None):
        """A value of that shape and type: one that exists, or made from another, or new."""
        shape = self.avals[index].shape if shape is None else tuple(shape)
        dtype = self.avals[index].dtype if dtype is None else jnp.dtype(dtype)
        same = [i for i, aval in enumerate(self.avals) if aval.shape == shape and aval.dtype == dtype]
        if same and self.source.chance(0.7):
            return self.source.choice(same)
        if self.source.chance(0.4):
            made = self.coerced(self.source.randrange(len(self.avals)), shape, dtype) if self.avals else None
            if made is not None:
                return made
        return self.fresh(shape, dtype)

    def coerced(self, index, shape, dtype):
        """Some value of that shape and type which depends on another."""
        return self.add("coerce", (index,), lambda x: coerce(x, shape, dtype))

    def add(self, name, operands, function):
        """The index of a new value; None where JAX refuses it or it is too large."""
        if any(o is None for o in operands):
            return None
        try:
            aval = jax.eval_shape(function, *(self.avals[o] for o in operands))
        except REFUSALS:
            return None
        if not hasattr(aval, "shape") or not jnp.issubdtype(aval.dtype, jnp.generic):
            return None
        if aval.dtype == jax.dtypes.float0:  # which derivatives of integers have
            return None
        if aval.size > 4 * self.source.most:
            return None
        self.nodes.append(Node(name, tuple(operands), function))
        self.avals.append(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        return len(self.avals) - 1

    def grow(self, count, accept=lambda name: True):
        """Adds `count` random operations."""
        table = [row for row in OPERATIONS if accept(row[1])]
        weights = [row[0] for row in table]
        for _ in range(count * 3):
            if count == 0:
                return
            _, name, make = self.source.choices(table, weights)[0]
            drawn = make(self)
            if drawn is not None and self.add(name, *drawn) is not None:
                count -= 1


class Argument:
    """Stands as a node while the draft grows; becomes a parameter."""

    def __init__(self, array):
        self.array = array

    def __call__(self):
        return jnp.asarray(self.array)


def coerce(x, shape, dtype):
    """x as a value of another shape and type: repeated or cut, and converted."""
    size = int(np.prod(shape))
    flat = x.reshape(-1)
    if flat.size == 0:
        flat = jnp.ones((1,), x.dtype)
    if flat.size < size:
        flat = jnp.tile(flat, -(-size // flat.size))
    flat = lax.slice(flat, (0,), (size,)).reshape(shape)
    if kind(x.dtype) == "complex" and kind(dtype) != "complex":
        flat = flat.real
    if kind(x.dtype) == "float" and kind(dtype) in ("int", "uint"):
        flat = jnp.clip(jnp.nan_to_num(flat, posinf=7, neginf=-5), 0, 100)
    return flat.astype(dtype)


def generate(seed):
    """The program of a seed."""
    import random_gathers  # noqa: F401: they fill the table
    import random_operations  # noqa: F401
    import random_regions  # noqa: F401

    source = Source(seed)
    draft = Draft(source)
    for _ in range(source.randint(1, 3)):
        draft.fresh(source.shape(), source.choice(TYPES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draft.grow(source.choice([1, 2, 3, 5, 8, 12]))
    return finished(draft)


def finished(draft):
    """The draft's program: arguments first, and as results what nothing uses, with a few others."""
    place, arguments, nodes = {}, [], []
    for i, node in enumerate(draft.nodes):
        if isinstance(node.function, Argument):
            place[i] = len(arguments)
            arguments.append(node.function.array)
    for i, node in enumerate(draft.nodes):
        if i not in place:
            place[i] = len(arguments) + len(nodes)
            nodes.append(Node(node.name, tuple(place[o] for o in node.operands), node.function))
    used = {o for node in nodes for o in node.operands}
    last = len(arguments) + len(nodes)
    outputs = [i for i in range(len(arguments), last) if i not in used or draft.source.chance(0.15)]
    return Program(arguments, nodes, outputs or [0])
