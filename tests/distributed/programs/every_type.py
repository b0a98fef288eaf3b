"""Every collective of every element type, over all devices and over groups of them; tells what is not NumPy's, by type and name.

Sums are of numbers that f32 adds exactly, but that narrower types do not: they are to be rounded once.
"""

from told import distributed, tell

import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
warnings.filterwarnings("ignore", "invalid value encountered in reduce")  # NumPy of opposite infinities
distributed()
n = jax.device_count()
GROUP = 2 if n % 2 == 0 else n
mesh = Mesh(np.array(jax.devices()).reshape(n // GROUP, GROUP), ("a", "b"))
sharding = NamedSharding(mesh, P(("a", "b")))
random = np.random.default_rng(11)
FLOATS = [name for name in dir(ml_dtypes) if name.startswith("float8_")]
TYPES = [np.dtype(name) for name in
         ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128", "bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", *FLOATS]]
ROWS, COLUMNS = 3, 7  # of a part


def values_of(dtype, shape):
    if dtype.kind in "iub" or dtype.name.startswith(("int", "uint")):
        limits = (0, 1) if dtype.kind == "b" else (int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max))
        return random.integers(*limits, shape, dtype=np.uint64 if limits[1] > 2**63 else np.int64, endpoint=True).astype(dtype)
    if dtype.name == "float8_e8m0fnu":  # powers of two
        return (2.0 ** random.integers(-2, 3, shape)).astype(dtype)
    if dtype.kind == "c":
        return (random.integers(-999, 999, shape) + 1j * random.integers(-999, 999, shape)).astype(dtype)
    return (random.integers(-200, 201, shape) / 8).astype(dtype)


def total(values):
    """The sum over the first dimension, as its type has it."""
    dtype = values.dtype
    if dtype.kind == "c":
        return values.sum(0)
    if dtype.kind == "f" or "float" in dtype.name:
        return values.astype(np.float64).sum(0).astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype)
    bits = ml_dtypes.iinfo(dtype).bits
    unused = np.array(64 - bits, np.uint64)
    whole = values.astype(np.uint64 if dtype == np.uint64 else np.int64).astype(np.uint64).sum(0) << unused
    return (whole.view(np.int64) >> unused.astype(np.int64) if dtype.name.startswith("int") else whole >> unused).astype(dtype)


def ragged_size(source, target):
    return (source + 2 * target) % (ROWS + 1)


def ragged(x):
    """x: [n * ROWS, COLUMNS]; the first rows of each part go."""
    me, others = jax.lax.axis_index(("a", "b")), jnp.arange(n)
    return jax.lax.ragged_all_to_all(x, jnp.zeros_like(x), others * ROWS, ragged_size(me, others), jnp.full(n, me * ROWS),
                                     ragged_size(others, me), axis_name=("a", "b"))


def ragged_wanted(v):
    sent = np.arange(ROWS) < ragged_size(np.arange(n)[:, None], np.arange(n))[..., None]  # [source, target, row]
    parts = v.reshape(n, n, ROWS, COLUMNS)
    return np.where(sent[..., None], parts, np.zeros((), np.float32).astype(v.dtype)).swapaxes(0, 1).reshape(v.shape)


ALL = ("a", "b")
PAIRS = [(i, (i + 1) % n) for i in range(n - 1)]  # nobody sends to device 0


def everyone(value):
    return np.repeat(value[None], n, 0)


def by_group(v, whole):
    """`whole` of the members of each group, for each of them."""
    groups = v.reshape(n // GROUP, GROUP, *v.shape[1:])
    return np.concatenate([np.repeat(whole(g)[None], GROUP, 0) for g in groups])


def shifted(v):
    return np.concatenate([np.zeros_like(v[:1]), v[:-1]])


# Name, what a device does with its x: [n * ROWS, COLUMNS], and what NumPy does with all of them.
CASES = {
    "sum": (lambda x: jax.lax.psum(x, ALL), lambda v: everyone(total(v))),
    "sum of a group": (lambda x: jax.lax.psum(x, "b"), lambda v: by_group(v, total)),
    "max": (lambda x: jax.lax.pmax(x, ALL), lambda v: everyone(v.max(0).astype(v.dtype))),
    "min": (lambda x: jax.lax.pmin(x, ALL), lambda v: everyone(v.min(0).astype(v.dtype))),
    "gather": (lambda x: jax.lax.all_gather(x, ALL, axis=1, tiled=True), lambda v: everyone(np.concatenate(list(v), 1))),
    "gather of a group": (lambda x: jax.lax.all_gather(x, "b"), lambda v: by_group(v, lambda g: g)),
    "scatter": (lambda x: jax.lax.psum_scatter(x, ALL, tiled=True), lambda v: total(v).reshape(n, ROWS, COLUMNS)),
    "scatter of columns": (lambda x: jax.lax.psum_scatter(x.reshape(-1, n, ROWS), ALL, scatter_dimension=1),
                           lambda v: np.moveaxis(total(v).reshape(-1, n, ROWS), 1, 0)),
    "exchange": (lambda x: jax.lax.all_to_all(x, ALL, 0, 1, tiled=True),
                 lambda v: np.stack([np.concatenate(list(v[:, p * ROWS:(p + 1) * ROWS]), 1) for p in range(n)])),
    "permute": (lambda x: jax.lax.ppermute(x, ALL, PAIRS), shifted),
    "broadcast": (lambda x: jax.lax.pbroadcast(x, ALL, n - 1), lambda v: everyone(v[n - 1])),
    "ragged": (ragged, ragged_wanted),
    "nothing": (lambda x: jax.lax.psum(x[:0], ALL), lambda v: v[:, :0]),
    "permute nothing": (lambda x: jax.lax.ppermute(x[:0], ALL, PAIRS), lambda v: v[:, :0]),
}


def cases_of(dtype):
    left_out = {"bool": ("sum", "scatter", "nothing"), "complex64": ("max", "min"), "complex128": ("max", "min")}.get(dtype.name, ())
    return {name: case for name, case in CASES.items() if name.split()[0] not in left_out}


def wrong_of(dtype):
    cases = cases_of(dtype)
    v = values_of(dtype, (n, n * ROWS, COLUMNS))
    x = jax.make_array_from_callback(v.shape, sharding, lambda i: v[i], dtype=dtype)

    def all_of_them(x):
        return tuple(per_device(x[0])[None] for per_device, _ in cases.values())

    out = jax.jit(jax.shard_map(all_of_them, mesh=mesh, in_specs=P(ALL), out_specs=P(ALL), check_vma=False))(x)
    wrong = {}
    for (name, (_, wanted)), array in zip(cases.items(), out):
        whole = wanted(v)
        assert array.dtype == whole.dtype and array.shape == whole.shape, (name, array.dtype, whole.dtype, array.shape, whole.shape)
        for shard in array.addressable_shards:
            got, want = np.asarray(shard.data).astype(np.complex128), whole[shard.index].astype(np.complex128)
            if not np.array_equal(got, want, equal_nan=True):
                at = tuple(np.argwhere(~((got == want) | (np.isnan(got) & np.isnan(want))))[0])
                wrong[f"{dtype.name} {name}"] = f"{np.mean(got != want):.2f} wrong: {got[at]} for {want[at]}"
    return wrong


wrong, count = {}, 0
for dtype in TYPES:
    wrong |= wrong_of(dtype)
    count += len(cases_of(dtype))
tell({"wrong": wrong, "count": count})
