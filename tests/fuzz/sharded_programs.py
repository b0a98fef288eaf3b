"""Random programs over random meshes with random shardings, as Python source.

`generate(seed)` gives a Program: a mesh, arguments with their shardings, and statements. A statement is Python text
that makes one array; `run_text` evaluates the whole with any meaning of

    C(x, *spec)             x with the sharding `spec` (one entry a dimension: None, an axis, a tuple of axes, U for "any")
    M(kind, x, dim, axis)   a manual region over one mesh axis; MANUAL has each kind's plain meaning and its shard_map

so that one text is both the sharded program and the program of one device. Floats are kept near 1, so that a tolerance
means something. What is discontinuous in rounding (argmax, sort with payload) is for programs of f64 only.
"""

import dataclasses
import math
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

MESHES = [{"a": 8}, {"a": 2, "b": 4}, {"a": 4, "b": 2}, {"a": 2, "b": 2, "c": 2}, {"a": 6}, {"a": 3, "b": 2}, {"a": 2, "b": 3},
          {"a": 5}, {"a": 2, "b": 2}, {"a": 4}, {"a": 2}, {"a": 1, "b": 8}]
SIZES = [1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 8, 12, 12, 13, 16, 24, 24]
MAX_ELEMENTS = 3000


@dataclasses.dataclass
class Program:
    seed: int
    mesh: dict  # axis name: size
    order: list  # the devices' order in the mesh
    arguments: list  # (name, shape, dtype name, spec)
    statements: list  # (name, text)
    results: list  # names
    result_specs: list  # or None: the compiler's choice
    gradient: list  # names of arguments whose gradient is taken as well

    def text(self):
        lines = [f"# seed {self.seed}: mesh {self.mesh}, devices {self.order}"]
        lines += [f"# {name} = {dtype}{list(shape)} {spec}" for name, shape, dtype, spec in self.arguments]
        lines += [f"# results {self.result_specs}; gradients of {self.gradient}"]
        return "\n".join(lines) + "\n" + self.function_text()

    def function_text(self):
        body = "".join(f"    {line}\n" for _, text in self.statements for line in text.split("\n"))
        names = ", ".join(name for name, *_ in self.arguments)
        return f"def program({names}):\n{body}    return ({', '.join(self.results)},)\n"

    def values(self):
        """The arguments' values: the same for the same seed, whatever else has been dropped."""
        return [value_of(self.seed, name, shape, dtype) for name, shape, dtype, _ in self.arguments]


def value_of(seed, name, shape, dtype):
    rng = np.random.default_rng([seed, *name.encode()])
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-3, 20, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def random_spec(rng, mesh, shape, even=False, any_dims=False):
    """Each axis of the mesh on a random dimension, or on none. Arguments' must divide."""
    dims = [[] for _ in shape]
    for name in rng.sample(list(mesh), len(mesh)):
        if not shape or rng.random() < 0.3:
            continue
        parts = [mesh[name] * math.prod(mesh[other] for other in dims[d]) for d in range(len(shape))]
        fitting = [d for d, n in enumerate(shape) if (n % parts[d] == 0 if even else n > 1)]
        if fitting:
            dims[rng.choice(fitting)].append(name)
    return tuple("U" if any_dims and not d and rng.random() < 0.3 else None if not d else d[0] if len(d) == 1 else tuple(d) for d in dims)


class Skip(Exception):
    """The operation does not fit what there is."""


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        rng = self.rng
        self.mesh = rng.choice(MESHES)
        self.dtype = rng.choice(["float64", "float64", "float64", "float32", "float32", "complex64", "int32"])
        self.shapes = {}  # name: ShapeDtypeStruct
        self.statements = []
        self.arguments = []
        self.names = 0  # given so far
        self.depth = 0  # of nested functions

    # --- What an operation asks for ---

    def pick(self, predicate=lambda x: True, dtype=None, rank=None):
        names = [n for n, x in self.shapes.items() if (dtype or self.dtype) == x.dtype.name and predicate(x) and
                 (rank is None or rank <= len(x.shape))]
        if not names:
            raise Skip
        # What is new is likelier, so that programs are deep.
        return self.rng.choice(names if self.rng.random() < 0.4 else names[-4:])

    def shape(self, name):
        return self.shapes[name].shape

    def dim(self, name):
        return self.rng.randrange(len(self.shape(name)))

    def argument(self, shape, dtype=None):
        """A further argument: arrays from outside are what is sharded at will."""
        if self.depth:
            raise Skip
        name = self.new_name()
        dtype = dtype or self.dtype
        self.arguments.append((name, tuple(shape), dtype, random_spec(self.rng, self.mesh, shape, even=True)))
        self.shapes[name] = jax.ShapeDtypeStruct(tuple(shape), dtype)
        return name

    def like(self, shape, dtype=None):
        """A value of this shape: one that is there, or a new argument."""
        shape = tuple(shape)
        try:
            return self.pick(lambda x: x.shape == shape, dtype)
        except Skip:
            return self.argument(shape, dtype)

    def is_float(self):
        return self.dtype.startswith("float")

    def need(self, condition):
        if not condition:
            raise Skip

    def spec_text(self, shape):
        spec = random_spec(self.rng, self.mesh, shape, any_dims=True)
        return "".join(f", {e!r}" if e != "U" else ", U" for e in spec)

    def new_name(self):
        self.names += 1
        return f"{'vw'[self.depth > 0]}{self.names}"

    # --- Growing the program ---

    def add(self, expression, helper=""):
        """A statement `name = expression`, of the shape that it has; helper: text before it."""
        name = self.new_name()
        text = f"{helper}{name} = {expression}"
        made = shape_of(text, name, self.shapes, self.mesh)
        if made.size > MAX_ELEMENTS or made.size == 0 and self.rng.random() < 0.9:
            raise Skip
        if self.rng.random() < 0.4 and made.shape:
            text += f"\n{name} = C({name}{self.spec_text(made.shape)})"
        self.statements.append((name, text))
        self.shapes[name] = made
        return name

    def grow(self, count, table):
        made, tries = 0, 0
        while made < count and tries < count * 12:
            tries += 1
            operation = self.rng.choices(table, [weight for weight, _ in table])[0][1]
            kept = dict(self.shapes), list(self.arguments), list(self.statements)
            try:
                expression = operation(self)
                name = self.add(*expression) if isinstance(expression, tuple) else self.add(expression)
                made += 1
            except Skip:
                self.shapes, self.arguments, self.statements = kept
                continue
            x = self.shapes[name]
            if x.dtype.name not in (self.dtype, "bool", "int32"):
                del self.shapes[name]

    def body(self, parameters, count, table):
        """Statements of a nested function of parameters (name: shape), and the names that it has at its end."""
        outer = self.shapes, self.statements
        self.shapes = {n: s for n, s in self.shapes.items() if self.rng.random() < 0.3} | dict(parameters)
        self.statements = []
        self.depth += 1
        try:
            self.grow(count, table)
            text = "".join(f"    {line}\n" for _, t in self.statements for line in t.split("\n"))
            return text, self.shapes
        finally:
            self.shapes, self.statements = outer
            self.depth -= 1

    def program(self, table, seed):
        rng = self.rng
        rank = rng.choice([1, 2, 2, 2, 3, 3, 4])
        for _ in range(rng.choice([1, 2, 2, 3])):
            shape = tuple(rng.choice(SIZES) for _ in range(rank))
            while np.prod(shape) > MAX_ELEMENTS:
                shape = shape[:-1] + (1,) if np.prod(shape[:-1]) <= MAX_ELEMENTS else shape[1:]
            self.argument(shape)
        self.grow(rng.choice([2, 3, 4, 6, 8, 12, 16]), table)
        names = [n for n, _ in self.statements]
        if not names:
            names = [self.arguments[0][0]]
        # What nothing uses is a result, and now and then something else.
        results = [n for i, n in enumerate(names) if rng.random() < 0.1 or
                   not any(re.search(rf"\b{n}\b", text) for _, text in self.statements[i + 1:])]
        shapes = shapes_of_all(self)
        specs = None
        if rng.random() < 0.5:
            specs = [random_spec(rng, self.mesh, shapes[n].shape, even=True) for n in results]
        gradient = []
        if self.dtype == "float64" and rng.random() < 0.35:
            gradient = [n for n, _, dtype, _ in self.arguments if dtype == self.dtype][:2]
        order = list(range(int(np.prod(list(self.mesh.values())))))
        if rng.random() < 0.3:
            rng.shuffle(order)
        return Program(seed, self.mesh, order, self.arguments, self.statements, results, specs, gradient)


def plain_constraint(x, *spec):
    return x


def environment(C, M):
    return {"jnp": jnp, "jax": jax, "lax": lax, "np": np, "C": C, "M": M, "U": jax.sharding.PartitionSpec.UNCONSTRAINED}


def shape_of(text, name, shapes, mesh):
    def run(values):
        env = environment(plain_constraint, lambda kind, x, dim, axis: MANUAL[kind][0](x, dim, mesh[axis])) | values
        exec(text, env)
        return env[name]

    try:
        made = jax.eval_shape(run, shapes)
    except (TypeError, ValueError, ZeroDivisionError, IndexError) as error:
        raise Skip from error
    return jax.ShapeDtypeStruct(made.shape, made.dtype)


def shapes_of_all(generator):
    shapes = {n: jax.ShapeDtypeStruct(s, d) for n, s, d, _ in generator.arguments}
    for name, text in generator.statements:
        shapes[name] = shape_of(text, name, shapes, generator.mesh)
    return shapes


# --- Manual regions: what a kind means on the whole array, and per part ---

def blocks(x, dim, k):
    return x.reshape(*x.shape[:dim], k, x.shape[dim] // k, *x.shape[dim + 1:])


# kind: (plain(x, dim, k), per part (x, dim, axis, k), whether the argument is split along dim, and the result)
MANUAL = {
    "psum": (lambda x, d, k: blocks(x, d, k).sum(d, dtype=x.dtype), lambda x, d, a, k: lax.psum(x, a), True, False),
    "all_gather": (lambda x, d, k: x * 2, lambda x, d, a, k: lax.all_gather(x, a, axis=d, tiled=True) * 2, True, False),
    "reduce_scatter": (lambda x, d, k: x * k, lambda x, d, a, k: lax.psum_scatter(x, a, scatter_dimension=d, tiled=True), False, True),
    "shift": (lambda x, d, k: jnp.roll(x, x.shape[d] // k, d), lambda x, d, a, k: lax.ppermute(x, a, [(i, (i + 1) % k) for i in range(k)]), True, True),
    "shift_no_wrap": (lambda x, d, k: jnp.concatenate([lax.slice_in_dim(x, 0, x.shape[d] // k, axis=d) * 0, lax.slice_in_dim(x, 0, x.shape[d] - x.shape[d] // k, axis=d)], d),
                      lambda x, d, a, k: lax.ppermute(x, a, [(i, i + 1) for i in range(k - 1)]), True, True),
    "index": (lambda x, d, k: (blocks(x, d, k) + jnp.arange(k).reshape(k, *[1] * (x.ndim - d)).astype(x.dtype)).reshape(x.shape),
              lambda x, d, a, k: x + lax.axis_index(a).astype(x.dtype), True, True),
    "cumsum_parts": (lambda x, d, k: jnp.cumsum(blocks(x, d, k), d + 1, dtype=x.dtype).reshape(x.shape), lambda x, d, a, k: jnp.cumsum(x, d, dtype=x.dtype), True, True),
}


def manual(mesh):
    """M of a program over `mesh`: the region is manual in one axis, the others are automatic."""
    P = jax.sharding.PartitionSpec

    def M(kind, x, dim, axis):
        _, per_part, split_in, split_out = MANUAL[kind]
        spec = P(*[None] * dim, axis)
        return jax.shard_map(lambda x: per_part(x, dim, axis, mesh.shape[axis]), mesh=mesh, in_specs=spec if split_in else P(),
                             out_specs=spec if split_out else P(), axis_names={axis}, check_vma=False)(x)

    return M


def generate(seed):
    from sharded_operations import OPERATIONS

    return Generator(seed).program(OPERATIONS, seed)
