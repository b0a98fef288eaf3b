"""Hands JAX's FFI targets to the plugin: jaxlib's kernels, and what users register for platform cpu.

JAX keeps one function that registers targets of a platform. Ours goes into its place before JAX's own cpu backend can,
tells jaxlib first (whose own backend may be in use beside Shoal, and which checks what it is given) and then the
plugin. The plugin exports XLA's table of FFI functions, `XLA_FFI_GetApi`; the structures here are those of XLA's
`ffi/api/c_api.h`.
"""

import ctypes

_STAGES = ("instantiate", "prepare", "initialize", "execute")
# Shoal's own trait (plugin/ffi/handlers.h): the handler may wait, so it gets a thread of its own.
MAY_WAIT = 1 << 31


class ByteSpan(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class _Bundle(ctypes.Structure):
    _fields_ = [(stage, ctypes.c_void_p) for stage in _STAGES]


class _RegisterArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("name", ByteSpan),
        ("platform", ByteSpan),
        ("bundle", _Bundle),
        ("traits", ctypes.c_uint32),
    ]


class _TypeArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("name", ByteSpan),
        ("type_id", ctypes.c_void_p),
        ("type_info", ctypes.c_void_p),
    ]


class ErrorArgs(ctypes.Structure):
    """Of Error_Create, GetMessage and Destroy: what each leaves out comes last."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("error_or_message", ctypes.c_void_p),
        ("message_or_code", ctypes.c_void_p),
    ]


class Version(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Api(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("version", Version),
        ("internal", ctypes.c_void_p),
        ("error_create", _FUNCTION),
        ("error_message", _FUNCTION),
        ("error_destroy", _FUNCTION),
        ("handler_register", _FUNCTION),
        ("stream_get", _FUNCTION),
        ("type_register", _FUNCTION),
        ("user_data_get", _FUNCTION),
    ]

    def check(self, error):
        """Raises what a function of the table returned."""
        if not error:
            return
        args = ErrorArgs(ctypes.sizeof(ErrorArgs), None, error, None)
        self.error_message(ctypes.addressof(args))
        message = ctypes.string_at(args.message_or_code).decode(errors="replace")
        self.error_destroy(ctypes.addressof(args))
        raise RuntimeError(message)

    def error(self, message, code=13):
        """A new error for a handler to return; 13 is INTERNAL."""
        text = ctypes.create_string_buffer(message.encode(errors="replace"))
        return self.error_create(
            ctypes.addressof(ErrorArgs(ctypes.sizeof(ErrorArgs), None, ctypes.addressof(text), code))
        )


def api_of(library) -> Api:
    function = ctypes.CDLL(str(library)).XLA_FFI_GetApi
    function.restype = ctypes.POINTER(Api)
    return function().contents


def _pointer(capsule) -> int:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(capsule, get_name(capsule))


def _span(text: str) -> ByteSpan:
    data = text.encode()
    return ByteSpan(data, len(data))


def register_handler(api: Api, name: str, handlers, traits: int = 0) -> None:
    """`handlers`: a capsule, or a dictionary of capsules by stage."""
    bundle = handlers if isinstance(handlers, dict) else {"execute": handlers}
    pointers = [_pointer(bundle[stage]) if stage in bundle else None for stage in _STAGES]
    args = _RegisterArgs(ctypes.sizeof(_RegisterArgs), None, _span(name), _span("cpu"), _Bundle(*pointers), traits)
    api.check(api.handler_register(ctypes.addressof(args)))


def _register_function(library, name: str, function) -> None:
    """`function`: a capsule with a C function of XLA's older, untyped interface (plugin/ffi/untyped_call.h)."""
    register = ctypes.CDLL(str(library)).ShoalRegisterUntypedFunction
    register.restype, register.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]
    api_of(library).check(register(name.encode(), _pointer(function)))


def _register_type(api: Api, name: str, registration) -> None:
    info = registration.get("type_info")
    args = _TypeArgs(
        ctypes.sizeof(_TypeArgs),
        None,
        _span(name),
        _pointer(registration["type_id"]),
        None if info is None else _pointer(info),
    )
    api.check(api.type_register(ctypes.addressof(args)))


def register_with_jax(library) -> None:
    """Registers all that JAX knows for platform cpu with the plugin, and sees to it that later ones come too."""
    from jax._src.lib import xla_client

    from shoal import callback

    api = api_of(library)
    jaxlib = xla_client._xla

    def register_target(name, handlers, platform, api_version, traits=0):
        jaxlib.register_custom_call_target(name, handlers, platform, api_version, traits)
        name = name.decode() if isinstance(name, bytes) else name
        if api_version == 1:
            register_handler(api, name, handlers)
        else:
            _register_function(library, name, handlers)

    def register_type(name, registration):
        jaxlib.register_custom_type(name, registration)
        _register_type(api, name, registration)

    callback.register(api)
    callback.forget_failed_tokens()
    callback.explain_missing_stream()
    # What jaxlib has registered for itself: nothing is left out but what is Shoal's own, and stages that it hides.
    for name, handlers in jaxlib.custom_call_targets("Host").items():
        if not isinstance(handlers, dict):
            _register_function(library, name, handlers)
        elif name not in callback.TARGETS:
            register_handler(api, name, handlers, MAY_WAIT if "python" in name else 0)
    xla_client.register_custom_type_handler("cpu", register_type)
    xla_client.register_custom_call_handler("cpu", register_target)
