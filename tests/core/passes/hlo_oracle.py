"""jaxlib as the oracle for HLO text: runs a module on XLA's CPU compiler, and makes inputs for it."""
import os
import re
import subprocess

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from built import BUILD  # noqa: E402
from jax._src.lib import xla_client as xc  # noqa: E402

TOOL = BUILD / "tests/core/passes/shoal_hlo_opt"

DTYPES = {
    "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128, "s4": ml_dtypes.int4,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
}


def optimize(text, passes):
    return convert(text.encode(), passes).decode()


def convert(module, passes="", into="text", out="text"):
    """Bytes of a module in format `into`, after `passes`, in format `out`."""
    done = subprocess.run([TOOL, passes, into, out], input=module, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode() + (module.decode() if into == "text" else "")
    return done.stdout


def entry_parameters(text):
    """[(dtype name, dims)] of the entry's parameters, by number."""
    entry = text[text.index("ENTRY"):]
    found = re.findall(r"= (\w+)\[([\d,]*)\](?:\{[\d,]*\})? parameter\((\d+)\)", entry)
    return [(t, tuple(int(d) for d in dims.split(",") if d)) for t, dims, _ in sorted(found, key=lambda f: int(f[2]))]


def inputs(text, seed=0):
    rng = np.random.default_rng(seed)
    values = []
    for name, dims in entry_parameters(text):
        dtype = DTYPES[name]
        if name == "pred":
            value = rng.integers(0, 2, dims).astype(np.bool_)
        elif name[0] in "su":
            value = rng.integers(0 if name[0] == "u" else -5, 8, dims).astype(dtype)
        elif name[0] == "c":
            value = (rng.normal(size=dims) + 1j * rng.normal(size=dims)).astype(dtype)
        else:
            value = rng.normal(size=dims).astype(np.float32).astype(dtype)
        values.append(np.asarray(value))
    return values


def run(text, args):
    """The results of the module (flattened) on jaxlib's CPU backend, not optimised beyond what it always does."""
    module = xc.hlo.hlo_module_from_text(text)
    computation = xc.XlaComputation(module.as_serialized_hlo_module_proto())
    mlir = xc._xla.mlir.xla_computation_to_mlir_module(computation)
    devices = jax.devices("cpu")[:1]
    executable = devices[0].client.compile_and_load(mlir, xc.DeviceList(tuple(devices)), xc.CompileOptions())
    with jax.enable_x64(True):
        arguments = [jax.device_put(a, devices[0]) for a in args]
    outputs = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.asarray(output[0]) for output in outputs]


def assert_same(before, after, exact=False):
    assert len(before) == len(after)
    for x, y in zip(before, after):
        assert x.dtype == y.dtype and x.shape == y.shape
        if exact or x.dtype.kind in "biu":
            np.testing.assert_array_equal(x, y)
        else:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            tolerance = 1e-2 if x.dtype.itemsize <= 2 else 1e-5
            np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=tolerance, atol=tolerance)
