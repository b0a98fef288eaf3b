"""The FFI handler behind jax.pure_callback, io_callback, debug.callback and debug.print.

jaxlib attaches its list of Python functions to each execution, and the call site says which one is meant. jaxlib's own
handler would do, if a part of its state could be made from outside. Arguments are copies: a function may keep them.
"""

import ctypes
import traceback

import ml_dtypes
import numpy as np

from shoal import ffi

TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")

_TOKEN = 17
# By XLA's number of an element type. Types of less than a byte take a byte each, here as in the plugin.
_DTYPES = {
    1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32,
    9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64, 15: np.complex64, 16: ml_dtypes.bfloat16,
    18: np.complex128, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4, 22: ml_dtypes.uint4,
    23: ml_dtypes.float8_e4m3b11fnuz, 24: ml_dtypes.float8_e5m2fnuz, 25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2,
    27: ml_dtypes.uint2, 28: ml_dtypes.float8_e4m3, 29: ml_dtypes.float8_e3m4, 32: ml_dtypes.float4_e2m1fn,
    33: ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]

    def array(self):
        """The buffer's memory as an array; None for a token."""
        if self.dtype == _TOKEN:
            return None
        dims, dtype = tuple(self.dims[: self.rank]), np.dtype(_DTYPES[self.dtype])
        size = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
        if size == 0:
            return np.empty(dims, dtype)
        return np.ndarray(dims, dtype, buffer=(ctypes.c_char * size).from_address(self.data))


class _Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("buffers", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    ]

    def arrays(self):
        return [self.buffers[i].contents.array() for i in range(self.size)]


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("names", ctypes.POINTER(ctypes.POINTER(ffi.ByteSpan))),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
    ]


class _Scalar(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("value", ctypes.c_void_p)]


class _CallFrame(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("api", ctypes.POINTER(ffi.Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("arguments", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
        ("future", ctypes.c_void_p),
    ]


class _Metadata(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("version", ffi.Version),
        ("traits", ctypes.c_uint32),
        ("state_type_id", ctypes.c_int64),
    ]


class _MetadataExtension(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.POINTER(_Metadata)),
    ]


class _UserDataArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("type_id", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


class _HostCallbacks(ctypes.Structure):
    """What jaxlib attaches to an execution: xla::FfiLoadedHostCallbacks."""

    _fields_ = [("functions", ctypes.POINTER(ctypes.c_void_p)), ("count", ctypes.c_int64)]


def _function(frame: _CallFrame):
    """The Python function that the call site names."""
    api = frame.api.contents
    args = _UserDataArgs(ctypes.sizeof(_UserDataArgs), None, frame.context, ctypes.pointer(ctypes.c_int64(0)), None)
    api.check(api.user_data_get(ctypes.addressof(args)))
    callbacks = ctypes.cast(args.data, ctypes.POINTER(_HostCallbacks)).contents
    attributes = frame.attributes
    names = [attributes.names[i].contents for i in range(attributes.size)]
    position = [name.data[: name.size] for name in names].index(b"index")
    scalar = ctypes.cast(attributes.values[position], ctypes.POINTER(_Scalar)).contents
    index = ctypes.cast(scalar.value, ctypes.POINTER(ctypes.c_uint64)).contents.value
    if index >= callbacks.count:
        raise IndexError(f"callback {index} of {callbacks.count}")
    return ctypes.cast(callbacks.functions[index], ctypes.py_object).value


def _call(frame: _CallFrame) -> None:
    arguments = []
    for view in frame.arguments.arrays():
        argument = None if view is None else view.copy()
        if argument is not None:
            argument.flags.writeable = False
        arguments.append(argument)
    results = _function(frame)(*arguments)
    for target, result in zip(frame.results.arrays(), results, strict=True):
        if target is not None:
            target[...] = result


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_CallFrame))
def _handler(pointer):
    frame = pointer.contents
    if frame.extension_start:
        extension = ctypes.cast(frame.extension_start, ctypes.POINTER(_MetadataExtension)).contents
        metadata = extension.metadata.contents
        metadata.version.major, metadata.version.minor = frame.api.contents.version.major, frame.api.contents.version.minor
        return None
    try:
        _call(frame)
    except BaseException as error:  # it must not pass into C
        # What happened first: other processes are told the beginning of it.
        summary = "".join(traceback.format_exception_only(error)).strip()
        text = "".join(traceback.format_exception(error))
        return frame.api.contents.error(f"CpuCallback error calling callback: {summary}\n{text}")
    return None


def register(api: ffi.Api) -> None:
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new_capsule(ctypes.cast(_handler, ctypes.c_void_p), None, None)
    for target in TARGETS:
        ffi.register_handler(api, target, capsule, ffi.MAY_WAIT)


def forget_failed_tokens() -> None:
    """Makes JAX's barrier for effects tell of a failed callback once.

    JAX keeps the end of the last program with callbacks of each device and waits for it in jax.effects_barrier and when
    Python exits. A program of one device fails in the call already, as with jaxlib; one of several fails later, and JAX
    would keep that end, and raise again, for ever.
    """
    from jax._src import dispatch

    wait = dispatch.RuntimeTokenSet.block_until_ready

    def block_until_ready(self):
        try:
            wait(self)
        finally:
            self.clear()

    dispatch.RuntimeTokenSet.block_until_ready = block_until_ready


def explain_missing_stream() -> None:
    """Gives the error of `ExecutionContext.stream` in a buffer callback its words.

    jaxlib reads an error of the plugin's table as one of its own, of which Shoal can make the code only.
    """
    import jax
    from jax._src.lib import ffi as jaxlib

    ask = jaxlib.ExecutionContext.stream

    def stream(context):
        try:
            return ask.__get__(context)
        except jax.errors.JaxRuntimeError as error:
            if str(error).removesuffix(": ") != "UNIMPLEMENTED":
                raise
            message = f"{error}XLA FFI GPU context is not available: a CPU has no stream"
            raise jax.errors.JaxRuntimeError(message) from None

    jaxlib.ExecutionContext.stream = property(stream)
