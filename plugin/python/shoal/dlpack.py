"""DLPack tensors that cannot be shared with Shoal, because they are not aligned or not row-major, and those that the
caller wants copied.

jaxlib copies such a tensor with a semantics of host buffers that its client for plugins refuses. `register` puts a
function of its own in the place of jaxlib's, which shares what can be shared and copies the rest as `device_put` does.
Where the caller forbids copies, jaxlib's error stands.
"""

import ctypes

import ml_dtypes
import numpy as np

_CPU = 1
# Codes of types in the DLPack specification.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
_BFLOAT, _BOOL = 4, 6


class _Tensor(ctypes.Structure):
    """DLTensor of the DLPack specification; DLManagedTensor begins with it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def register(owns) -> None:
    """`owns(device)` says whether a device of JAX is Shoal's."""
    from jax._src.lib import _jax

    share = _jax.dlpack_managed_tensor_to_buffer

    def to_buffer(capsule, device, stream=None, copy=None, *rest):
        if not owns(device):
            return share(capsule, device, stream, copy, *rest)
        if not copy:
            try:
                return share(capsule, device, stream, False, *rest)
            except _jax.JaxRuntimeError as error:
                if copy is False or not _needs_copy(error):
                    raise
        return _copied(capsule, device)

    _jax.dlpack_managed_tensor_to_buffer = to_buffer


def _needs_copy(error) -> bool:
    return any(words in str(error) for words in ("is not aligned to", "row-major", "trivial (compact) striding"))


def _copied(capsule, device):
    from jax._src import config, core
    from jax._src.lib import xla_client
    from jax.sharding import SingleDeviceSharding

    array = _view(capsule)
    aval = core.ShapedArray(array.shape, array.dtype)
    with config.enable_x64(True):  # jaxlib keeps the type; JAX narrows it after that
        made = xla_client.batched_device_put(
            aval, SingleDeviceSharding(device), [array], [device], True, force_copy=True
        )
    return made.block_until_ready()  # the capsule's memory lives as long as the capsule


def _view(capsule) -> np.ndarray:
    """The tensor's memory as an array of NumPy's."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    if tensor.device_type != _CPU or tensor.lanes != 1:
        raise ValueError(f"a DLPack tensor of device type {tensor.device_type} with {tensor.lanes} lanes")
    dtype, shape = _dtype(tensor.code, tensor.bits), tuple(tensor.shape[: tensor.ndim])
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = [n * dtype.itemsize for n in tensor.strides[: tensor.ndim]] if tensor.strides else None
    # NumPy wants a buffer that starts at the lowest address and ends at the highest.
    spans = [(n - 1) * s for n, s in zip(shape, strides)] if strides else [(int(np.prod(shape)) - 1) * dtype.itemsize]
    below = -sum(s for s in spans if s < 0)
    size = below + sum(s for s in spans if s > 0) + dtype.itemsize
    memory = (ctypes.c_char * size).from_address(tensor.data + tensor.byte_offset - below)
    return np.ndarray(shape, dtype, memory, below, strides)


def _dtype(code, bits) -> np.dtype:
    if code == _BOOL:
        return np.dtype(np.bool_)
    if code == _BFLOAT and bits == 16:
        return np.dtype(ml_dtypes.bfloat16)
    if code in _KINDS and bits % 8 == 0:
        return np.dtype(f"{_KINDS[code]}{bits // 8}")
    raise ValueError(f"a DLPack tensor of type code {code} and {bits} bits that needs a copy")
