"""The programs of differential.py: one generator a family."""

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax._src.interpreters import mlir
from jax._src.lib.mlir.dialects import hlo
from jax.extend.core import Primitive

BF16, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [BF16, F16, F32, F64]
COMPLEX = [np.complex64, np.complex128]
TOLERANCE = {BF16: 1e-2, F16: 2e-3, F32: 1e-6, F64: 4e-15, np.complex64: 3e-6, np.complex128: 1e-14}


@dataclasses.dataclass
class Case:
    name: str
    function: Callable
    arguments: tuple
    rtol: float = 0.0
    atol: float = 0.0
    fuses: bool = True


def rng(name):
    return np.random.default_rng(sum(map(ord, name)))


def dtype_name(dtype):
    return np.dtype(dtype).name


def operation(name, shape_of, lower):
    """A primitive for an operation of StableHLO that JAX does not emit so."""
    primitive = Primitive(name)
    primitive.def_abstract_eval(shape_of)
    mlir.register_lowering(primitive, lower)
    return primitive


def floats(r, shape, dtype, scale=3.0):
    return (r.standard_normal(shape) * scale).astype(dtype)


def special(dtype):
    """Signed zeros, infinities, NaN, the biggest numbers, and what lies around the branch points. No subnormal ones:
    jaxlib flushes them (ulp.py tests ours against NumPy)."""
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, 1.5, 2.5, -2.5, 3.0, 10.0, -10.0, 30.0, 88.0,
              -88.0, 89.5, 1e-3, 1e3, 0.999, 1.001, float(info.max), float(info.min), float(info.tiny),
              float(info.eps)]
    return np.array(values).astype(dtype)


def integers(r, shape, dtype):
    info = np.iinfo(dtype)
    wide = r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    small = r.integers(0, 10, shape).astype(dtype)
    return np.where(r.random(shape) < 0.5, wide, small)


def any_array(r, shape, dtype):
    if np.dtype(dtype) == np.bool_:
        return r.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return integers(r, shape, dtype)
    if np.dtype(dtype).kind == "c":
        return (r.standard_normal(shape) * 2 + 2j * r.standard_normal(shape)).astype(dtype)
    return floats(r, shape, dtype)


UNARY_FLOAT = ["abs", "ceil", "cos", "exp", "expm1", "floor", "is_finite", "log", "log1p", "logistic", "neg", "rsqrt",
               "sign", "sin", "sqrt", "tan", "tanh", "cbrt", "erf", "asin", "acos", "sinh", "cosh", "asinh", "acosh",
               "atanh"]
BINARY_FLOAT = ["add", "sub", "mul", "div", "max", "min", "atan2", "pow", "rem", "eq", "ne", "lt", "le", "gt", "ge"]


def elementwise():
    for dtype in FLOATS:
        tolerance = TOLERANCE[dtype]
        for name in UNARY_FLOAT:
            r = rng(name)
            x = np.concatenate([special(dtype), floats(r, 150, dtype), floats(r, 50, dtype, 0.2)])
            # jaxlib's log1p and atanh of f64 are some 16 ulp off (ulp.py measures ours).
            loose = 4 if name in ("log1p", "atanh") else 1
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x,), loose * tolerance, 0.0)
        for name in BINARY_FLOAT:
            r = rng(name)
            s = special(dtype)
            x = np.concatenate([np.repeat(s, len(s)), floats(r, 101, dtype)])
            y = np.concatenate([np.tile(s, len(s)), floats(r, 101, dtype)])
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x, y), 4 * tolerance)
        for mode in (0, 1):
            x = np.concatenate([special(dtype), floats(rng("round"), 77, dtype)])
            yield Case(f"round{mode}_{dtype_name(dtype)}", lambda x, mode=mode: lax.round(x, lax.RoundingMethod(mode)), (x,))
        x = np.concatenate([special(dtype), floats(rng("rp"), 77, dtype, 1e3)])
        yield Case(f"reduce_precision_{dtype_name(dtype)}", lambda x: lax.reduce_precision(x, 4, 3), (x,))
    for dtype in INTS:
        r = rng(dtype_name(dtype))
        x, y = integers(r, 133, dtype), integers(r, 133, dtype)
        for name in ["add", "sub", "mul", "div", "rem", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "eq",
                     "lt", "ge", "shift_left", "shift_right_logical", "shift_right_arithmetic"]:
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x, y))
        for name in ["sign", "abs", "neg", "bitwise_not", "clz", "population_count"]:
            if name in ("abs", "neg") and np.dtype(dtype).kind == "u":
                continue
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x,))
    for dtype in COMPLEX:
        r = rng(dtype_name(dtype))
        x, y = any_array(r, 131, dtype), any_array(r, 131, dtype)
        t = TOLERANCE[dtype]
        for name in ["exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "abs", "sign", "neg", "expm1", "log1p", "logistic",
                     "real", "imag", "tan"]:
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x,), 4 * t, 4 * t)
        for name in ["add", "sub", "mul", "div", "pow", "eq", "ne"]:
            yield Case(f"{name}_{dtype_name(dtype)}", getattr(lax, name), (x, y), 20 * t, 4 * t)
        for name in ["maximum", "minimum", "atan2"]:  # JAX writes these out for complex numbers
            same = operation(f"hlo_{name}", lambda x, y: x, lambda ctx, x, y, op=getattr(hlo, name): [op(x, y)])
            yield Case(f"{name}_{dtype_name(dtype)}", lambda x, y, p=same: p.bind(x, y), (x, y), 20 * t, 20 * t)
    everything = INTS + FLOATS + COMPLEX + [np.bool_]
    for source in everything:
        x = any_array(rng("convert"), 61, source)
        if np.dtype(source).kind == "c":
            targets = COMPLEX + [F32]
        else:
            targets = everything
            if source in FLOATS:
                x = np.concatenate([special(source), x])
        for target in targets:
            if np.dtype(target) != np.dtype(source):
                f = lambda x, target=target: lax.convert_element_type(x, target)
                yield Case(f"convert_{dtype_name(source)}_{dtype_name(target)}", f, (x,))
    for name in ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e4m3",
                 "float8_e3m4"]:
        narrow = getattr(ml_dtypes, name)
        x = np.concatenate([special(F32), floats(rng(name), 300, F32), floats(rng(name), 100, F32, 0.01),
                            floats(rng(name), 50, F32, 300)])
        yield Case(f"convert_float32_{name}", lambda x, t=narrow: lax.convert_element_type(x, t), (x,))
        every = np.arange(256, dtype=np.uint8).view(narrow)
        yield Case(f"convert_{name}_float32", lambda x: lax.convert_element_type(x, F32), (every,))
        yield Case(f"add_{name}", lambda x, y: x + y, (every, every[::-1].copy()))
    r = rng("select")
    c, x, y = r.random(77) < 0.5, floats(r, 77, F32), floats(r, 77, F32)
    yield Case("select", lax.select, (c, x, y))
    yield Case("clamp", lax.clamp, (np.float32(-1), x, np.float32(1)))
    yield Case("clamp_int", lax.clamp, (np.int32(-3), integers(r, 33, np.int32), np.int32(5)))
    yield Case("complex", lax.complex, (x, y))
    yield Case("bitcast_f32_s32", lambda x: lax.bitcast_convert_type(x, np.int32), (x,))
    yield Case("bitcast_f64_u32", lambda x: lax.bitcast_convert_type(x, np.uint32), (x.astype(F64),))
    yield Case("bitcast_u8_u32", lambda x: lax.bitcast_convert_type(x, np.uint32), (integers(r, (9, 4), np.uint8),))
    yield Case("huge_sin", lambda x: (lax.sin(x), lax.cos(x)), (np.float32([1e10, 1e30, -3e38, 5.0, 1e15] * 5),), 2e-7)
    yield Case("huge_sin64", lambda x: (lax.sin(x), lax.cos(x)), (np.array([1e10, 1e300, -3e38, 5.0, 1e6] * 5),), 1e-15)


def index_maps():
    r = rng("index")
    x = floats(r, (5, 7, 9), F32)
    row, matrix = floats(r, 9, F32), floats(r, (37, 53), F32)
    yield Case("broadcast_row", lambda x, y: x + y, (x, row))
    yield Case("broadcast_column", lambda m, v: m * v[:, None], (matrix, floats(r, 37, F32)))
    yield Case("broadcast_middle", lambda x, y: x * y[:, None, :], (x, floats(r, (5, 9), F32)))
    yield Case("broadcast_scalar", lambda x, s: x * s, (x, np.float32(3)))
    for perm in [(0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1)]:
        yield Case(f"transpose_{''.join(map(str, perm))}", lambda x, p=perm: lax.transpose(x, p), (x,))
    yield Case("transpose_add", lambda m, n: m.T + n, (matrix, floats(r, (53, 37), F32)))
    # Rows of 12 cut into rows of 8: digits that do not divide one another.
    yield Case("transpose_reshape_transpose", lambda x: x.transpose(1, 0, 2).reshape(6, 2, 12).transpose(1, 0, 2), (floats(r, (3, 6, 8), F32),))
    yield Case("transpose_f64", lambda m: m.T, (floats(r, (65, 33), F64),))
    yield Case("transpose_u8", lambda m: m.T, (integers(r, (65, 33), np.uint8),))
    yield Case("transpose_bf16", lambda m: m.T, (floats(r, (65, 33), BF16),))
    yield Case("transpose_c64", lambda m: m.T, (any_array(r, (15, 33), np.complex64),))
    yield Case("reshape_add", lambda m, v: m.reshape(53, 37) + v, (matrix, floats(r, (53, 37), F32)))
    yield Case("reshape_split", lambda x, y: x.reshape(6, 4, 16) * y[None, :, None], (floats(r, (6, 64), F32), floats(r, 4, F32)))
    yield Case("reshape_merge", lambda x, y: (x + y[:, None]).reshape(24, 16), (floats(r, (6, 4, 16), F32), floats(r, (4, 16), F32)[:, 0][None].repeat(6, 0).reshape(6, 4)[..., None][:, :, 0][:, 0:1] + np.zeros((6, 16), F32)))
    yield Case("slice", lambda m: lax.slice(m, (3, 5), (30, 50)), (matrix,))
    yield Case("slice_strided", lambda m: lax.slice(m, (3, 5), (30, 50), (2, 3)), (matrix,))
    yield Case("slice_outer", lambda m: m[4:9] * 2, (matrix,))
    yield Case("reverse", lambda x: lax.rev(x, (0, 2)), (x,))
    yield Case("reverse_last", lambda m: lax.rev(m, (1,)), (matrix,))
    yield Case("reverse_first", lambda m: lax.rev(m, (0,)), (matrix,))
    yield Case("pad", lambda m, v: lax.pad(m, v, ((2, 3, 0), (1, 4, 0))), (matrix, np.float32(7)))
    yield Case("pad_interior", lambda m, v: lax.pad(m, v, ((2, 3, 1), (1, 4, 2))), (matrix, np.float32(7)))
    yield Case("pad_negative", lambda m, v: lax.pad(m, v, ((-2, 3, 0), (4, -5, 0))), (matrix, np.float32(7)))
    yield Case("pad_negative_interior", lambda m, v: lax.pad(m, v, ((-2, -3, 2), (-4, -5, 1))), (matrix, np.float32(7)))
    yield Case("pad_empty", lambda m, v: lax.pad(m, v, ((1, 2, 0), (1, 4, 0))), (np.zeros((0, 3), F32), np.float32(7)))
    for d in (0, 1):
        parts = tuple(floats(r, (37, n) if d else (n, 53), F32) for n in (3, 16, 29))
        yield Case(f"concatenate_{d}", lambda *p, d=d: lax.concatenate(p, d), parts)
    yield Case("concatenate_1d", lambda a, b: jnp.concatenate([a * 2, b + 1]), (floats(r, 100, F32), floats(r, 57, F32)))
    for start in [(0, 0), (30, 50), (-5, 100), (3, 7)]:
        s = tuple(np.int32(v) for v in start)
        yield Case(f"dynamic_slice_{start[0]}_{start[1]}", lambda m, a, b: lax.dynamic_slice(m, (a, b), (11, 13)), (matrix, *s))
        u = floats(r, (11, 13), F32)
        yield Case(f"dynamic_update_slice_{start[0]}_{start[1]}",
                   lambda m, u, a, b: lax.dynamic_update_slice(m, u, (a, b)), (matrix, u, *s))
    for dtype in (F32, BF16, np.complex64):
        u = any_array(r, (11, 1), dtype)
        yield Case(f"dynamic_update_column_{dtype_name(dtype)}",
                   lambda m, u, a: lax.dynamic_update_slice(m, u, (a, a)), (any_array(r, (37, 53), dtype), u, np.int32(7)))
    yield Case("dynamic_update_row", lambda m, u, a: lax.dynamic_update_slice(m, u, (a, np.int32(0))), (matrix, floats(r, (1, 53), F32), np.int32(7)))
    for dtype in [np.int32, np.int64, np.uint8, BF16, F32, F64, np.complex64]:
        for d in range(2):
            yield Case(f"iota_{dtype_name(dtype)}_{d}", lambda t=dtype, d=d: lax.broadcasted_iota(t, (11, 21), d), ())
    yield Case("constant_array", lambda x: x + np.arange(21, dtype=F32), (floats(r, (5, 21), F32),))
    yield Case("multi_output", lambda x, y: (x + y, x * y, jnp.exp(x)), (x, floats(r, (5, 7, 9), F32)), 2e-7)
    yield Case("empty", lambda x: x + 1, (np.zeros((0, 3), F32),))
    yield Case("scalar", lambda x, y: x * y + 1, (np.float32(3), np.float32(4)))
    yield Case("channels_last_3", lambda x, y: x * y, (floats(r, (41, 3), F32), floats(r, 3, F32)))
    yield Case("long", lambda x: x * 2 + 1, (floats(r, 100003, F32),))
    yield Case("long_matrix", lambda x, y: x * y + 1, (floats(r, (700, 333), F32), floats(r, 333, F32)), 2e-7, 1e-6)


def gathers():
    r = rng("gather")
    table, ids = floats(r, (41, 17), F32), r.integers(-2, 45, 23).astype(np.int32)
    clip = lax.GatherScatterMode.CLIP
    yield Case("gather_rows", lambda t, i: jnp.take(t, i, axis=0, mode="clip"), (table, ids), fuses=False)
    yield Case("gather_fill", lambda t, i: jnp.take(t, i, axis=0, mode="fill"), (table, ids), fuses=False)
    yield Case("gather_columns", lambda t, i: jnp.take(t, i, axis=1, mode="clip"), (table, ids), fuses=False)
    yield Case("gather_1d", lambda t, i: t.at[i].get(mode="clip"), (floats(r, 99, F32), r.integers(0, 99, (5, 31))))
    yield Case("gather_2d", lambda t, i, j: t.at[i, j].get(mode="clip"), (table, r.integers(0, 41, 29), r.integers(0, 17, 29)))
    yield Case("take_along", lambda t, i: jnp.take_along_axis(t, i, 1, mode="clip"), (table, r.integers(0, 17, (41, 5))), fuses=False)
    dims = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    yield Case("gather_windows", lambda t, i: lax.gather(t, i, dims, (3, 5), mode=clip), (table, r.integers(-3, 45, (9, 2))))
    yield Case("gather_u8", lambda t, i: t.at[i].get(mode="clip"), (integers(r, 99, np.uint8), r.integers(0, 99, 77)))
    yield Case("gather_c64", lambda t, i: t.at[i].get(mode="clip"), (any_array(r, 99, np.complex64), r.integers(0, 99, 77)))


def reduces():
    r = rng("reduce")
    shapes = {"row": ((33, 77), (1,)), "column": ((77, 33), (0,)), "all": ((5, 7, 11), (0, 1, 2)), "middle": ((5, 70, 9), (1,)),
              "outer": ((5, 7, 33), (0, 2)), "one": ((1, 1), (0,)), "long": ((70001,), (0,)), "wide": ((3, 9001), (1,)),
              "tall": ((9001, 3), (0,)), "small_rows": ((501, 5), (1,)), "none": ((7, 0), (1,))}
    for name, (shape, axes) in shapes.items():
        for dtype in [F32, F64, np.int32, BF16]:
            x = any_array(r, shape, dtype)
            rtol = {F32: 2e-6, F64: 1e-14, BF16: 2e-2}.get(dtype, 0)
            atol = {F32: 2e-3, F64: 1e-11, BF16: 9}.get(dtype, 0)  # jaxlib adds up in order, in bf16 too
            yield Case(f"sum_{name}_{dtype_name(dtype)}", lambda x, a=axes: jnp.sum(x, a, dtype=x.dtype), (x,), rtol, atol)
        x = any_array(r, shape, F32)
        for op in ["max", "min", "prod"] if name != "none" else ["prod"]:
            yield Case(f"{op}_{name}", lambda x, a=axes, op=op: getattr(jnp, op)(x, a), (x,), 1e-4, 1e-30)
        b = r.random(shape) < 0.9
        yield Case(f"any_{name}", lambda x, a=axes: (jnp.any(x, a), jnp.all(x, a)), (b,))
        if name in ("row", "column", "small_rows"):  # jaxlib's parallel reductions lose NaNs
            yield Case(f"max_nan_{name}", lambda x, a=axes: jnp.max(x, a), (np.where(r.random(shape) < 0.1, np.nan, x).astype(F32),))
        if len(axes) == 1 and name != "none":
            yield Case(f"argmax_{name}", lambda x, a=axes[0]: lax.argmax(x, a, np.int64), (np.round(x),), fuses=False)
            yield Case(f"argmin_{name}", lambda x, a=axes[0]: lax.argmin(x, a, np.int32), (x,), fuses=False)
    x = floats(r, (33, 77), F32)
    yield Case("mean", lambda x: jnp.mean(x, 1), (x,), 2e-6, 1e-5)
    yield Case("sum_exp", lambda x: jnp.sum(jnp.exp(x), 1), (x,), 2e-6)
    yield Case("sum_of_products", lambda x, y: jnp.sum(x * y, 0), (x, floats(r, (33, 77), F32)), 1e-5, 1e-4)
    yield Case("two_sums", lambda x: (jnp.sum(x, 1), jnp.sum(x * x, 1)), (x,), 2e-6, 1e-4)
    yield Case("log_sum_exp", lambda x: jnp.log(jnp.sum(jnp.exp(x), 1)) + 1, (x,), 2e-6, 1e-6)
    yield Case("reduce_or_u32", lambda x: lax.reduce_or(x, (0,)), (integers(r, (77, 33), np.uint32),))
    yield Case("reduce_xor_u32", lambda x: lax.reduce_xor(x, (1,)), (integers(r, (77, 33), np.uint32),))
    yield Case("sum_complex", lambda x: jnp.sum(x, 1), (any_array(r, (33, 77), np.complex64),), 1e-5, 1e-4)
    yield Case("custom_reduce", lambda x: lax.reduce(x, np.int32(0), lambda a, b: a * 3 + b * 3, (1,)) * 0, (integers(r, (9, 31), np.int32),))
    yield Case("big_sum", lambda x: jnp.sum(x), (r.random(3000001).astype(F32),), 1e-6)


def dots():
    r = rng("dot")
    for dtype in [F32, F64, BF16, F16, np.int32, np.int8, np.complex64, np.complex128]:
        rtol = {F32: 2e-5, F64: 1e-13, BF16: 2e-2, F16: 5e-3, np.complex64: 3e-5, np.complex128: 1e-13}.get(dtype, 0)
        atol = {F32: 1e-4, F64: 1e-12, BF16: 0.3, F16: 0.05, np.complex64: 1e-4, np.complex128: 1e-12}.get(dtype, 0)
        n = dtype_name(dtype)
        mm = lambda a, b: jnp.matmul(a, b, preferred_element_type=a.dtype)
        yield Case(f"dot_{n}", mm, (any_array(r, (17, 33), dtype), any_array(r, (33, 21), dtype)), rtol, atol)
        yield Case(f"dot_big_{n}", mm, (any_array(r, (65, 131), dtype), any_array(r, (131, 97), dtype)), rtol, 3 * atol)
        yield Case(f"dot_batched_{n}", mm, (any_array(r, (3, 17, 13), dtype), any_array(r, (3, 13, 21), dtype)), rtol, atol)
        yield Case(f"dot_vector_{n}", mm, (any_array(r, (37, 53), dtype), any_array(r, 53, dtype)), rtol, atol)
    a, b = floats(r, (40, 70), F32), floats(r, (40, 90), F32)
    yield Case("dot_tn", lambda a, b: a.T @ b, (a, b), 2e-5, 2e-4)
    yield Case("dot_contract0", lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ()))), (a, b), 2e-5, 2e-4)
    yield Case("dot_nt", lambda a, b: lax.dot_general(a, b, (((1,), (1,)), ((), ()))), (a, floats(r, (50, 70), F32)), 2e-5, 2e-4)
    yield Case("einsum_heads", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), (floats(r, (2, 19, 4, 32), F32), floats(r, (2, 23, 4, 32), F32)), 2e-5, 2e-4)
    yield Case("einsum_two", lambda q, k: jnp.einsum("abcd,cde->abe", q, k), (floats(r, (2, 19, 4, 32), F32), floats(r, (4, 32, 29), F32)), 2e-5, 2e-4)
    yield Case("outer_product", lambda a, b: jnp.einsum("i,j->ij", a, b), (floats(r, 70, F32), floats(r, 90, F32)), 1e-6)
    yield Case("dot_bf16_f32", lambda a, b: lax.dot(a, b, preferred_element_type=F32), (floats(r, (40, 70), BF16), floats(r, (70, 90), BF16)), 1e-5, 1e-3)
    yield Case("dot_empty", lambda a, b: a @ b, (np.zeros((3, 0), F32), np.zeros((0, 5), F32)))


def convolutions():
    r = rng("conv")
    def conv(name, x, k, rtol=2e-5, atol=2e-4, **options):
        yield Case(f"conv_{name}", lambda x, k: lax.conv_general_dilated(x, k, **options), (x, k), rtol, atol)
    nhwc = dict(dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x, k = floats(r, (2, 13, 15, 6), F32), floats(r, (3, 3, 6, 10), F32)
    yield from conv("same", x, k, window_strides=(1, 1), padding="SAME", **nhwc)
    yield from conv("valid_stride", x, k, window_strides=(2, 3), padding="VALID", **nhwc)
    yield from conv("dilated", x, k, window_strides=(1, 1), padding="SAME", rhs_dilation=(2, 2), **nhwc)
    yield from conv("transposed", x, k, window_strides=(1, 1), padding=((2, 1), (3, 2)), lhs_dilation=(2, 3), **nhwc)
    yield from conv("depthwise", x, floats(r, (3, 3, 1, 12), F32), window_strides=(1, 1), padding="SAME", feature_group_count=6, **nhwc)
    yield from conv("grouped", x, floats(r, (3, 3, 3, 8), F32), window_strides=(1, 1), padding="SAME", feature_group_count=2, **nhwc)
    yield from conv("batch_groups", floats(r, (4, 9, 9, 6), F32), floats(r, (3, 3, 6, 8), F32), window_strides=(1, 1), padding="SAME", batch_group_count=2, **nhwc)
    yield from conv("nchw", floats(r, (2, 6, 13, 15), F32), floats(r, (10, 6, 3, 3), F32), window_strides=(1, 1), padding="SAME")
    yield from conv("1d", floats(r, (2, 33, 5), F32), floats(r, (4, 5, 7), F32), window_strides=(1,), padding="SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    yield from conv("3d", floats(r, (1, 7, 8, 9, 3), F32), floats(r, (2, 3, 2, 3, 5), F32), window_strides=(1, 2, 1), padding="SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
    yield from conv("f64", x.astype(F64), k.astype(F64), 1e-12, 1e-11, window_strides=(1, 1), padding="SAME", **nhwc)
    yield from conv("bf16", x.astype(BF16), k.astype(BF16), 2e-2, 0.5, window_strides=(1, 1), padding="SAME", **nhwc)
    y = lambda x, k: jnp.sum(lax.conv_general_dilated(x, k, (1, 1), "SAME", **nhwc) ** 2)
    yield Case("conv_gradient", jax.grad(y, argnums=(0, 1)), (x, k), 1e-4, 1e-2, fuses=False)


def windows():
    r = rng("window")
    x = floats(r, (2, 13, 15, 6), F32)
    yield Case("max_pool", lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (x,))
    yield Case("avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 1, 2, 1), "VALID"), (x,), 1e-5, 1e-5)
    yield Case("window_dilated", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 1, 2, 1), "SAME", (1, 2, 1, 1), (1, 2, 1, 1)), (x,), 1e-5, 1e-5)
    for axis in (0, 1):
        m = floats(r, (67, 41), F32)
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
            for reverse in (False, True):
                f = lambda m, name=name, axis=axis, reverse=reverse: getattr(lax, name)(m, axis, reverse)
                yield Case(f"{name}_{axis}_{reverse}", f, (m,), 1e-4, 1e-4, fuses=False)
    yield Case("cumsum_int", lambda x: lax.cumsum(x), (integers(r, 1001, np.int32),), fuses=False)
    # Long enough for chunks; lengths and widths that are no multiple of anything.
    for shape, axis in (((100003,), 0), ((3, 50021), 1), ((20011, 7), 0), ((2, 997, 83), 1), ((1000, 3), 1), ((5, 1), 1)):
        for reverse in (False, True):
            m = r.integers(-50, 50, shape).astype(np.int32)
            f = lambda m, axis=axis, reverse=reverse: (lax.cumsum(m, axis, reverse), lax.cummax(m, axis, reverse))
            yield Case(f"cum_{'x'.join(map(str, shape))}_{axis}_{reverse}", f, (m,), fuses=False)
    yield Case("cumsum_bf16", lambda x: lax.cumsum(x), (floats(r, 65, BF16, 0.3),), 3e-2, 3e-2, fuses=False)
    yield Case("cumprod_c64", lambda x: lax.cumprod(x), (any_array(r, 61, np.complex64) / 2,), 1e-4, 1e-4, fuses=False)
    def pool(x):
        return jnp.sum(lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2)
    yield Case("max_pool_gradient", jax.grad(pool), (x,), 1e-5, 1e-5, fuses=False)


def scatters():
    r = rng("scatter")
    table, updates = floats(r, (41, 17), F32), floats(r, (23, 17), F32)
    ids = r.integers(-2, 45, 23).astype(np.int32)
    for op in ["add", "mul", "min", "max", "set"]:
        f = lambda t, i, u, op=op: getattr(t.at[i], op)(u, mode="drop")
        distinct = r.permutation(41)[:23].astype(np.int32)
        yield Case(f"scatter_{op}", f, (table, distinct if op == "set" else ids, updates), 1e-6, 1e-5, fuses=False)
    yield Case("scatter_1d", lambda t, i, u: t.at[i].add(u), (floats(r, 99, F32), r.integers(0, 99, 333), floats(r, 333, F32)), 1e-5, 1e-5, fuses=False)
    yield Case("scatter_2d", lambda t, i, j, u: t.at[i, j].add(u), (table, r.integers(0, 41, 29), r.integers(0, 17, 29), floats(r, 29, F32)), 1e-5, 1e-5, fuses=False)
    yield Case("scatter_columns", lambda t, i, u: t.at[:, i].add(u), (table, r.integers(0, 17, 7), floats(r, (41, 7), F32)), 1e-5, 1e-5, fuses=False)
    # Big enough to be split by rows; indices out of range are dropped.
    big = (floats(r, (301, 5), F32), r.integers(-3, 310, 90001), floats(r, (90001, 5), F32, 0.1))
    yield Case("scatter_parallel", lambda t, i, u: t.at[i].add(u, mode="drop"), big, 1e-5, 1e-3, fuses=False)
    pairs = (np.zeros((3, 1000), np.int32), r.integers(0, 3, (400, 500)), r.integers(0, 1000, (400, 500)), integers(r, (400, 500), np.int32))
    yield Case("scatter_parallel_2d", lambda t, i, j, u: t.at[i, j].add(u), pairs, fuses=False)
    yield Case("scatter_bf16", lambda t, i, u: t.at[i].add(u), (table.astype(BF16), ids % 41, updates.astype(BF16)), 3e-2, 0.2, fuses=False)
    yield Case("scatter_c64", lambda t, i, u: t.at[i].add(u), (any_array(r, 31, np.complex64), r.integers(0, 31, 77), any_array(r, 77, np.complex64)), 1e-5, 1e-5, fuses=False)
    yield Case("histogram", lambda i: jnp.zeros(16, np.int32).at[i].add(1), (r.integers(0, 16, 1001),), fuses=False)


def sorts():
    r = rng("sort")
    for dtype in [F32, F64, np.int32, np.uint8, np.int64, BF16]:
        for shape, axis in [((1001,), 0), ((7, 133), 1), ((133, 7), 0)]:
            x = any_array(r, shape, dtype)
            yield Case(f"sort_{dtype_name(dtype)}_{len(shape)}_{axis}", lambda x, a=axis: lax.sort(x, a), (x,), fuses=False)
    x = np.concatenate([special(F32), floats(r, 100, F32)])
    yield Case("sort_special", lambda x: lax.sort(x), (x,), fuses=False)
    y = r.integers(0, 5, 301).astype(np.int32)
    yield Case("argsort_stable", lambda x: jnp.argsort(x, stable=True), (y,), fuses=False)
    yield Case("sort_pairs", lambda k, v: lax.sort((k, v), num_keys=1), (y, floats(r, 301, F32)), fuses=False)
    yield Case("sort_two_keys", lambda k, v: lax.sort((k, v), num_keys=2), (y, floats(r, 301, F32)), fuses=False)
    yield Case("sort_descending", lambda x: jnp.sort(x, descending=True), (floats(r, 301, F32),), fuses=False)
    yield Case("sort_complex", lambda x: lax.sort(x), (any_array(r, 77, np.complex64),), fuses=False)
    for dtype in (F32, np.int64):  # long rows with many equal elements, in rising and falling order too
        x = r.integers(-90, 90, (3, 20011)).astype(dtype)
        x[1], x[2] = np.sort(x[1]), np.sort(x[2])[::-1]
        yield Case(f"top_k_long_{dtype_name(dtype)}", lambda x: lax.top_k(x, 1000), (x,), fuses=False)
    yield Case("top_k", lambda x: lax.top_k(x, 7), (floats(r, (5, 101), F32),), fuses=False)


def randoms():
    for name, shape in [("even", (64,)), ("odd", (33,)), ("matrix", (7, 9))]:
        for algorithm in ["threefry", "philox"]:
            for dtype in [np.uint32, np.uint64, np.uint8, np.uint16]:
                state64 = np.arange(3, 5, dtype=np.uint64)
                def f(s, shape=shape, dtype=dtype, algorithm=algorithm):
                    which = lax.RandomAlgorithm.RNG_THREE_FRY if algorithm == "threefry" else lax.RandomAlgorithm.RNG_PHILOX
                    return lax.rng_bit_generator(s, shape, dtype, which)
                yield Case(f"rng_{algorithm}_{name}_{dtype_name(dtype)}", f, (state64,), fuses=False)


def ffts():
    # Powers of two, mixed radices, primes with a stage of their own and beyond (Bluestein), lines alone and many (a line
    # alone of 64 and more is cut in two), every axis.
    shapes = [(1,), (5, 7), (1024,), (3, 64), (17, 60), (9, 101), (2, 2187), (1, 10007), (11, 2 * 53), (3, 5, 8), (2, 9, 96)]
    for shape in shapes:
        r = rng(f"fft{shape}")
        for dtype in COMPLEX:
            x = any_array(r, shape, dtype)
            for rank in range(1, len(shape) + 1):
                axes = tuple(range(-rank, 0))
                name = f"{'x'.join(map(str, shape))}_{rank}_{dtype_name(dtype)}"
                largest = float(np.abs(np.fft.fftn(x.astype(np.complex128), axes=axes)).max())
                near = dict(atol=largest * (3e-6 if dtype == np.complex64 else 1e-14), fuses=False)
                yield Case("fft_" + name, lambda x, a=axes: jnp.fft.fftn(x, axes=a), (x,), **near)
                yield Case("ifft_" + name, lambda x, a=axes: jnp.fft.ifftn(x, axes=a), (x,), **near)
                yield Case("rfft_" + name, lambda x, a=axes: jnp.fft.rfftn(x, axes=a), (x.real.copy(),), **near)
                half, sizes = x[..., :shape[-1] // 2 + 1], shape[-rank:]
                yield Case("irfft_" + name, lambda x, s=sizes, a=axes: jnp.fft.irfftn(x, s=s, axes=a), (half,), **near)
    yield Case("fft_of_nothing", jnp.fft.fft, (np.zeros((0, 8), np.complex64),), fuses=False)


def linalg():
    # As HLO operations: JAX itself calls LAPACK for these types. Sizes around the blocks of 32, 48 and 64.
    cholesky = operation("hlo_cholesky", lambda a, lower: a,
                         lambda ctx, a, lower: [hlo.cholesky(a, lower=mlir.ir.BoolAttr.get(lower))])
    solve = operation("hlo_solve", lambda a, b, **_: b, lambda ctx, a, b, left, lower, unit, transpose: [
        hlo.triangular_solve(a, b, *map(mlir.ir.BoolAttr.get, (left, lower, unit)), hlo.TransposeAttr.get(transpose))])
    indefinite = np.stack([np.diag([4.0, 9, -1, 1]), np.diag([4.0, 9, 1, 1])])  # NaNs for the first, not for the second
    yield Case("cholesky_indefinite", lambda a: jnp.isnan(cholesky.bind(a, lower=True)).any((1, 2)), (indefinite,), fuses=False)
    for n, batch in [(1, 2), (3, 5), (67, 2), (150, 1)]:
        for dtype in [F32, np.complex128] if n > 100 else [F32, F64, *COMPLEX]:
            name = f"{n}_{dtype_name(dtype)}"
            r = rng(name)
            g = any_array(r, (batch, n, n), dtype)
            near = dict(rtol=2e-5 if dtype in (F32, np.complex64) else 1e-13, atol=2e-4 if dtype in (F32, np.complex64) else 1e-12, fuses=False)
            positive = g @ g.conj().swapaxes(1, 2) + 9 * n * np.eye(n, dtype=dtype)
            for lower in (True, False):
                side = jnp.tril if lower else jnp.triu
                yield Case(f"cholesky_{'lu'[not lower]}_{name}", lambda a, lower=lower, side=side: side(cholesky.bind(a, lower=lower)), (positive.astype(dtype),), **near)
            for left in (True, False):
                b = any_array(r, (batch, n, 2 * n + 1) if left else (batch, 2 * n + 1, n), dtype)
                a = (any_array(r, (batch, n, n), dtype) / (3 * n) + 2 * np.eye(n)).astype(dtype)
                for k, lower in enumerate((True, False)):
                    # All twelve forms once; of the bigger sizes some, for it is the blocks that differ there.
                    for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT") if n == 3 else (("TRANSPOSE", "NO_TRANSPOSE")[k],):
                        unit = transpose == "TRANSPOSE"
                        f = lambda a, b, o=(left, lower, unit, transpose): solve.bind(a, b, **dict(zip(("left", "lower", "unit", "transpose"), o)))
                        yield Case(f"solve_{'rl'[left]}{'ul'[lower]}{transpose[0]}_{name}", f, (a, b), **near)


FAMILIES = [elementwise, index_maps, gathers, reduces, dots, convolutions, windows, scatters, sorts, randoms, ffts, linalg]


def cases():
    for family in FAMILIES:
        yield from family()
