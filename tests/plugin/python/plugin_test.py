"""The installed plugin as JAX sees it: platform names, transfers, donation, DLPack, errors, tracing.

Each case runs in a process of its own, because JAX makes its backends once. NumPy is the oracle.
"""

import os
import re
import subprocess
import sys
import textwrap

import pytest


def run(code, *, ok=True, **environment):
    """What `code` prints, stdout and stderr, with Shoal as the platform unless `environment` says otherwise."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "JAX_", "OMPI_", "XLA_"))}
    env.update({"JAX_PLATFORMS": "shoal", "SHOAL_NUM_DEVICES": "2"})
    env.update(environment)
    prologue = "import jax, jax.numpy as jnp, numpy as np\n"
    done = subprocess.run(
        [sys.executable, "-c", prologue + textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=300
    )
    if ok:
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def installed():
    shoal = pytest.importorskip("shoal")
    if not shoal.LIBRARY.exists():
        pytest.skip("the plugin is not installed")


def test_shoal_and_cpu_are_one_client():
    out, _ = run(
        """
        print(jax.default_backend(), len(jax.devices()), len(jax.devices("cpu")), len(jax.devices("shoal")))
        print(jax.devices("cpu")[0].client is jax.devices("shoal")[0].client)
        device = jax.devices()[1]
        print(device.platform, device.device_kind, device.id, device.process_index, device.local_hardware_id)
        print([m.kind for m in device.addressable_memories()], device.default_memory().kind)
        print("shoal" in device.client.platform_version)
        """
    )
    assert out.splitlines() == [
        "cpu 2 2 2",
        "True",
        "cpu cpu 1 0 1",
        "['device', 'pinned_host', 'unpinned_host'] device",
        "True",
    ]


@pytest.mark.parametrize(
    "environment, first, cpu",
    [
        ({"JAX_PLATFORMS": "cpu"}, False, False),
        ({"JAX_PLATFORMS": "cpu", "SHOAL_AS_CPU": "1"}, True, True),
        ({"JAX_PLATFORMS": ""}, False, False),
        ({"JAX_PLATFORMS": "shoal"}, True, True),
        ({"JAX_PLATFORMS": "shoal,cpu"}, True, False),
    ],
)
def test_who_answers_to_which_name(environment, first, cpu):
    out, _ = run(
        """
        print("shoal" in jax.devices()[0].client.platform_version)
        print("shoal" in jax.devices("cpu")[0].client.platform_version)
        """,
        **environment,
    )
    assert out.split() == [str(first), str(cpu)]


def test_number_of_devices_from_each_source():
    code = "print(len(jax.devices()))"
    assert run(code, SHOAL_NUM_DEVICES="3")[0].strip() == "3"
    assert run("jax.config.update('jax_num_cpu_devices', 5)\n" + code)[0].strip() == "5"
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    assert run("import os; del os.environ['SHOAL_NUM_DEVICES']\n" + code, **env)[0].strip() == "4"


def test_transfers_of_every_type_and_layout():
    out, _ = run(
        """
        import ml_dtypes
        rng = np.random.default_rng(0)
        names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                 "float64", "complex64", "complex128"]
        small = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "int2", "uint2"]
        types = [np.dtype(n) for n in names] + [np.dtype(getattr(ml_dtypes, n)) for n in small]
        with jax.enable_x64(True):
            for dtype in types:
                for shape in [(), (0,), (7,), (3, 5), (2, 0, 3), (3, 1, 5, 2)]:
                    x = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
                    for y in [x, x.T, x[..., ::-1] if x.ndim else x]:
                        for device in jax.devices():
                            z = jax.device_put(y, device)
                            assert z.dtype == dtype and z.devices() == {device}
                            back = np.asarray(z)
                            assert back.shape == y.shape and back.dtype == dtype, (dtype, back.dtype)
                            np.testing.assert_array_equal(back.astype("complex128"), y.astype("complex128"))
        print("good")
        """
    )
    assert out.strip() == "good"


def test_copies_between_devices_and_kinds_of_memory():
    out, _ = run(
        """
        x = np.arange(1 << 22, dtype=np.float32)
        y = jnp.array(x)
        np.testing.assert_array_equal(np.asarray(y), np.arange(1 << 22, dtype=np.float32))
        a, b = jax.devices()
        z = jax.device_put(y, b)
        assert z.devices() == {b}
        np.testing.assert_array_equal(z, y)
        w = jax.device_put(y, jax.sharding.SingleDeviceSharding(a, memory_kind="pinned_host"))
        assert w.sharding.memory_kind == "pinned_host"
        np.testing.assert_array_equal(w, y)
        print("good")
        """
    )
    assert out.strip() == "good"


def test_dlpack_shares_memory_both_ways():
    out, _ = run(
        """
        x = jnp.arange(12.0).reshape(3, 4).block_until_ready()
        n = np.from_dlpack(x)
        assert n.ctypes.data == x.unsafe_buffer_pointer()
        np.testing.assert_array_equal(n, np.asarray(x))
        base = np.zeros(1024, np.float32)
        start = (-base.ctypes.data % 64) // 4
        aligned = base[start:start + 256]
        aligned[:] = np.arange(256)
        y = jax.dlpack.from_dlpack(aligned)
        assert y.unsafe_buffer_pointer() == aligned.ctypes.data
        np.testing.assert_array_equal(np.asarray(y), np.arange(256))
        del x
        np.testing.assert_array_equal(n, np.arange(12.0).reshape(3, 4))  # the view keeps the memory
        print("good")
        """
    )
    assert out.strip() == "good"


def test_dlpack_copies_what_cannot_be_shared():
    out, _ = run(
        """
        base = np.arange(1024, dtype=np.float32)
        start = (-base.ctypes.data % 64) // 4
        odd = base[start + 1:start + 100]
        for x in (odd, base[:96].reshape(8, 12).T, base[::-3], base[:0], base[5:6].reshape(()),
                  base.reshape(32, 32)[::-2, 1::3]):
            for copy in (None, True):
                y = jax.dlpack.from_dlpack(x, copy=copy)
                assert y.shape == x.shape and y.dtype == x.dtype
                np.testing.assert_array_equal(y, x)
        y = jax.dlpack.from_dlpack(base[start:start + 64], copy=True)
        base[:] = -1
        assert y[5] == start + 5
        try:
            jax.dlpack.from_dlpack(odd, copy=False)
        except ValueError as error:
            assert "copy=False" in str(error), error
            print("good")
        """
    )
    assert out.strip() == "good"


def test_numpy_arrays_are_copied():
    out, _ = run(
        """
        base = np.zeros(1024 + 16, np.float32)
        start = (-base.ctypes.data % 64) // 4
        x = base[start:start + 1021]  # aligned as Shoal's own memory is, so that it could be shared
        puts = [lambda a: jax.device_put(a, may_alias=False), jnp.array, jax.jit(lambda a: a)]
        for put in puts:
            x[:] = np.arange(1021)
            y = put(x)  # not waited for: a copy that is still under way would see the next line too
            x[:] = -1
            np.testing.assert_array_equal(y, np.arange(1021))
        print("good")
        """
    )
    assert out.strip() == "good"


def test_donation():
    out, _ = run(
        """
        f = jax.jit(lambda x: x + 1, donate_argnums=0)
        x = jnp.arange(1000.0)
        x.block_until_ready()
        pointer = x.unsafe_buffer_pointer()
        y = f(x)
        print(x.is_deleted(), y.unsafe_buffer_pointer() == pointer)
        np.testing.assert_array_equal(y, np.arange(1000.0) + 1)
        try:
            f(x)
        except (RuntimeError, ValueError) as e:
            print("deleted" in str(e) or "donated" in str(e))
        z = jnp.arange(5.0)
        seen = np.asarray(z)
        np.testing.assert_array_equal(f(z), np.arange(5.0) + 1)
        np.testing.assert_array_equal(seen, np.arange(5.0))  # what somebody sees is not overwritten
        x = jnp.arange(35.0).reshape(5, 7)
        y = jax.jit(lambda x: x.T[::-1] + 0, donate_argnums=0)(x)  # no memory to share, gone all the same
        np.testing.assert_array_equal(y, np.arange(35.0).reshape(5, 7).T[::-1])
        print(x.is_deleted())
        """
    )
    assert out.split() == ["True", "True", "True", "True"]


def test_views_of_device_memory_may_be_the_last_to_go():
    run(
        """
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, y: jnp.tanh(y @ x), x))
        x = jnp.ones((300, 300))
        cycle = {"view": np.asarray(x + 1)}
        cycle["itself"] = cycle  # freed with the interpreter's modules, after JAX's backends
        f(x)  # and a program still runs
        """
    )


def test_errors_name_both_sides_and_the_client_still_works():
    out, _ = run(
        """
        try:
            jax.device_put(np.zeros(1 << 28, np.float32)).block_until_ready()
        except Exception as e:
            print("RESOURCE_EXHAUSTED" in str(e), "SHOAL_MEMORY_LIMIT" in str(e))
        x = jnp.arange(3.0)
        x.delete()
        try:
            np.asarray(x)
        except RuntimeError as e:
            print("deleted" in str(e))
        print(np.asarray(jnp.arange(3)).tolist())
        """,
        SHOAL_MEMORY_LIMIT=str(64 << 20),
    )
    assert out.split("\n")[:3] == ["True True", "True", "[0, 1, 2]"]


def test_more_elements_than_an_int_counts():
    out, _ = run(
        """
        try:
            jnp.zeros(2**40, jnp.int8).block_until_ready()
        except Exception as e:
            print("RESOURCE_EXHAUSTED" in str(e))
        """,
        SHOAL_MEMORY_LIMIT=str(64 << 20),
    )
    assert out.split("\n")[0] == "True"


def test_a_wrong_flag_is_named():
    _, err = run("jax.devices()", ok=False, SHOAL_NUM_DEVICES="many")
    assert "SHOAL_NUM_DEVICES" in err and "many" in err
    _, err = run("jax.devices()", ok=False, SHOAL_NUM_DEVICES="0")
    assert "at least one device" in err
    _, err = run("jax.devices()", ok=False, SHOAL_NUM_DEVICES=str(2**32 + 1))  # as an int it would be one
    assert "at most" in err and str(2**32 + 1) in err
    _, err = run("jax.devices()", ok=False, SHOAL_TRANSPORT="tcp")  # also where one process needs none
    assert "SHOAL_TRANSPORT=tcp" in err and "auto, mpi or ucx" in err


def test_trace_shows_every_call_in_order():
    out, err = run(
        "y = jax.jit(lambda x: jnp.power(x, jnp.int32(2)))(1); print(y)", SHOAL_TRACE="1", SHOAL_NUM_DEVICES="1"
    )
    assert out.strip() == "1"
    calls = re.findall(r"^shoal trace +[\d.]+ ms  ([\w.]+)\(.*\(([\d.]+) us\)$", err, re.M)
    names = [name for name, _ in calls]
    wanted = [
        "Client.Create",
        "Client.Devices",
        "Device.AddressableMemories",
        "Client.Compile",
        "Client.BufferFromHostBuffer",
        "LoadedExecutable.Execute",
        "Buffer.ReadyEvent",
    ]
    positions = [names.index(name) for name in wanted]
    assert positions == sorted(positions), names
    execute = r"LoadedExecutable.Execute\(loaded#\d+ jit__lambda\w*, buffer#\d+ s32\[\](, launch_id=-?\d+)?\) -> buffer#\d+ s32\[\]"
    assert re.search(execute, err)


def test_memory_statistics():
    out, _ = run(
        """
        import time

        stats = jax.devices()[0].memory_stats()
        assert stats["bytes_reservable_limit"] == stats["bytes_limit"] // len(jax.devices()), stats
        before = stats["bytes_in_use"]
        x = jnp.zeros(1 << 20, jnp.float32).block_until_ready()
        during = jax.devices()[0].memory_stats()["bytes_in_use"]
        del x
        # The run's own hold on its result ends on a worker, soon after the result is ready.
        deadline = time.monotonic() + 10
        while jax.devices()[0].memory_stats()["bytes_in_use"] - before >= 1 << 22 and time.monotonic() < deadline:
            time.sleep(0.001)
        after = jax.devices()[0].memory_stats()["bytes_in_use"]
        print(during - before >= 1 << 22, after - before < 1 << 22)
        """
    )
    assert out.split() == ["True", "True"]


def test_native_code_outlives_the_process(tmp_path):
    code = """
        @jax.jit
        def f(x, w):
            y = jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, length=5)
            return y[0], jnp.exp(y[1]).cumsum(), jnp.sort(x, 0)
        print([np.asarray(a).tobytes().hex() for a in f(np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7), np.eye(7))])
        """
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "SHOAL_LOG": "1",
    }
    printed, kernels = [], []
    for _ in range(2):
        out, log = run(code, **environment)
        printed.append(out)
        kernels.append(re.search(r"compiled jit_f in .* \((\d+) of (\d+) kernels new", log).groups())
    assert kernels[0][0] == kernels[0][1] != "0"
    assert kernels[1] == ("0", kernels[0][1])
    assert printed[0] == printed[1]


def test_xlas_dump_of_the_optimised_program(tmp_path):
    run(
        f"""
        import glob
        from jaxlib import xla_client
        both = {{"xla_dump_to": "{tmp_path}/b", "xla_dump_hlo_as_proto": True, "xla_dump_hlo_as_text": True}}
        for options in ({{"xla_dump_to": "{tmp_path}/a"}}, both):
            jax.jit(lambda x: jnp.sin(x) + 1).lower(1.0).compile(compiler_options=options)
        a, = glob.glob("{tmp_path}/a/*after_optimizations*")
        b, = glob.glob("{tmp_path}/b/*after_optimizations.txt")
        proto, = glob.glob("{tmp_path}/b/*after_optimizations.hlo.pb")
        assert a.endswith(".txt") and open(a).read() == open(b).read() and "sine(" in open(a).read()
        module = open(proto, "rb").read()
        start = 1 + next(i for i in range(1, 10) if module[i] < 128)
        assert "sine(" in xla_client.hlo.HloModule.from_serialized_hlo_module_proto(module[start:]).to_string()
        """
    )


def test_compile_options_of_xla_are_checked():
    run(
        """
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        assert lowered.compile(compiler_options={"xla_embed_ir_in_executable": "True", "xla_dump_to": ""})(1.0) == 2
        for name, value, told in (("xla_embed_ir_in_executable", "maybe", "'maybe' is not a valid bool value"),
                                  ("no_such_option", True, "No such compile option: 'no_such_option'")):
            try:
                lowered.compile(compiler_options={name: value})
                raise SystemExit("no error")
            except jax.errors.JaxRuntimeError as e:
                assert "INVALID_ARGUMENT" in str(e) and told in str(e), e
        """
    )
