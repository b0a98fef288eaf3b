"""Custom calls through JAX: LAPACK, user kernels, host callbacks. NumPy and SciPy are the oracle.

Each case runs in a process of its own, with two devices.
"""

import pytest
from plugin_test import installed, run  # noqa: F401: a fixture


def test_linear_algebra_equals_numpy():
    run(
        """
        import scipy.linalg
        jax.config.update("jax_enable_x64", True)
        rng = np.random.default_rng(0)
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            eps = 300 * np.finfo(dtype).eps
            a = rng.standard_normal((3, 7, 7)) + (1j * rng.standard_normal((3, 7, 7)) if np.dtype(dtype).kind == "c" else 0)
            a = a.astype(dtype)
            h = a @ a.conj().swapaxes(-1, -2) + 7 * np.eye(7, dtype=dtype)
            close = lambda x, y: np.testing.assert_allclose(x, y, rtol=eps, atol=eps * 10)
            low = jnp.linalg.cholesky(h)
            close(low, np.linalg.cholesky(h))
            close(jnp.linalg.solve(a, a[:, :, :2]), np.linalg.solve(a, a[:, :, :2]))
            q, r = jnp.linalg.qr(a[:, :, :5])
            close(q @ r, a[:, :, :5])
            w, v = jnp.linalg.eigh(h)
            close(w, np.linalg.eigvalsh(h))
            close(h @ v, v * w[:, None, :])
            close(jnp.linalg.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False))
            close(np.sort(np.abs(jnp.linalg.eigvals(a))), np.sort(np.abs(np.linalg.eigvals(a))))
            t, z = jax.scipy.linalg.schur(a[0])
            close(z @ t @ z.conj().T, a[0])
        """
    )


def test_a_large_matrix_does_not_overrun_the_stack():
    """OpenBLAS's LU calls itself, with half a megabyte of stack a time."""
    run("""
        import scipy.linalg
        a = np.random.default_rng(0).standard_normal((1500, 1500)).astype(np.float32)
        for _ in range(3):
            lu, pivots, _ = jax.lax.linalg.lu(a)
        want, want_pivots = scipy.linalg.lu_factor(a)
        np.testing.assert_array_equal(pivots, want_pivots)
        np.testing.assert_allclose(lu, want, 1e-2, 1e-2)
    """)


def test_batches_at_the_same_time_do_not_wait_for_each_other():
    """jaxlib's kernels split a big batch into tasks and wait for them: with a kernel on every worker, who runs the tasks?"""
    run(
        """
        a = [np.random.default_rng(i).standard_normal((256, 24, 24)).astype(np.float32) for i in range(6)]
        f = jax.jit(lambda xs: [jnp.linalg.qr(x) for x in xs])
        for results in [f(a) for _ in range(8)]:
            for x, (q, r) in zip(a, results):
                np.testing.assert_allclose(q @ r, x, rtol=1e-4, atol=1e-4)
        """
    )


def test_batches_of_matrices_stay_split():
    run(
        """
        from jax.sharding import NamedSharding, PartitionSpec as P
        x = np.random.default_rng(0).standard_normal((6, 5, 5)).astype(np.float32)
        x = x @ x.swapaxes(-1, -2) + 5 * np.eye(5, dtype=np.float32)
        split = NamedSharding(jax.make_mesh((2,), ("b",)), P("b"))
        for f, g in ((jnp.linalg.cholesky, np.linalg.cholesky), (jnp.linalg.inv, np.linalg.inv)):
            compiled = jax.jit(f, in_shardings=split, out_shardings=split).lower(x).compile()
            assert "all-gather" not in compiled.as_text(), compiled.as_text()
            np.testing.assert_allclose(compiled(jax.device_put(x, split)), g(x), rtol=1e-4, atol=1e-5)
        """
    )


def test_a_kernel_of_the_user(tmp_path):
    (tmp_path / "kernel.cc").write_text(
        """
        #include "xla/ffi/api/ffi.h"
        namespace ffi = xla::ffi;
        static ffi::Error Scale(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y, float by, ffi::Span<const int64_t> plus) {
          if (x.element_type() != ffi::F32) return ffi::Error::InvalidArgument("only f32 is scaled");
          for (size_t i = 0; i < x.element_count(); ++i)
            y->typed_data<float>()[i] = by * x.typed_data<float>()[i] + plus[i % plus.size()];
          return ffi::Error::Success();
        }
        XLA_FFI_DEFINE_HANDLER_SYMBOL(scale, Scale, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>()
                                      .Attr<float>("by").Attr<ffi::Span<const int64_t>>("plus"));
        static ffi::Error InPlace(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
          if (x.untyped_data() != y->untyped_data()) return ffi::Error::Internal("two buffers");
          y->typed_data()[0] += 1;
          return ffi::Error::Success();
        }
        XLA_FFI_DEFINE_HANDLER_SYMBOL(in_place, InPlace, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>()
                                      .Ret<ffi::Buffer<ffi::F32>>());
        static ffi::Error Columns(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
          auto d = x.dimensions();
          if (d.size() != 2 || d[0] != 3 || d[1] != 4) return ffi::Error::Internal("not 3 x 4");
          for (int i = 0; i < 12; ++i) y->typed_data()[i] = x.typed_data()[i];
          return ffi::Error::Success();
        }
        XLA_FFI_DEFINE_HANDLER_SYMBOL(columns, Columns, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>()
                                      .Ret<ffi::Buffer<ffi::F32>>());
        """
    )
    run(
        f"""
        import ctypes, subprocess
        library = "{tmp_path}/kernel.so"
        subprocess.run(["clang++-19", "-std=c++17", "-shared", "-fPIC", "-I" + jax.ffi.include_dir(), "-o", library,
                        "{tmp_path}/kernel.cc"], check=True)
        scale = jax.ffi.pycapsule(ctypes.CDLL(library).scale)
        jax.devices()  # the plugin is there already
        jax.ffi.register_ffi_target("scale", scale, platform="cpu")
        def call(x):
            f = jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype), vmap_method="broadcast_all")
            return f(x, by=np.float32(2), plus=np.array([10, 20]))
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        want = 2 * x + np.tile([10, 20], 6).reshape(3, 4)
        np.testing.assert_array_equal(jax.jit(call)(x), want)
        np.testing.assert_array_equal(jax.vmap(call)(x), want)
        for name in ("in_place", "columns"):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(ctypes.CDLL(library), name)), platform="cpu")
        in_place = jax.ffi.ffi_call("in_place", jax.ShapeDtypeStruct((3,), np.float32), input_output_aliases={{0: 0}})
        given = jnp.arange(3, dtype=np.float32)
        assert jax.jit(in_place)(given).tolist() == [1, 1, 2] and given.tolist() == [0, 1, 2]
        assert jax.jit(lambda x: in_place(2 * x) + x)(given).tolist() == [1, 3, 6]
        # The kernel sees columns and says so of what it makes; it still knows 3 rows and 4 columns.
        columns = jax.ffi.ffi_call("columns", jax.ShapeDtypeStruct(x.shape, x.dtype), input_layouts=[(1, 0)], output_layouts=(1, 0))
        np.testing.assert_array_equal(jax.jit(columns)(x), x)
        columns = jax.ffi.ffi_call("columns", jax.ShapeDtypeStruct((4, 3), x.dtype), input_layouts=[(1, 0)])
        np.testing.assert_array_equal(jax.jit(columns)(x), x.T)
        try:
            jax.jit(call)(x.astype(np.int32)).block_until_ready()
            raise SystemExit("no error")
        except jax.errors.JaxRuntimeError as e:
            assert "INVALID_ARGUMENT" in str(e) and "'scale'" in str(e) and "only f32 is scaled" in str(e), e
        try:
            jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(ctypes.CDLL(None).malloc), platform="cpu")
            raise SystemExit("no error")
        except Exception as e:
            assert "scale" in str(e), e
        """
    )


def test_callbacks_see_values_and_give_some():
    out, _ = run(
        """
        def host(x):
            assert isinstance(x, jax.Array)
            return np.sin(np.asarray(x)).T
        def f(x):
            return jax.pure_callback(host, jax.ShapeDtypeStruct(x.T.shape, x.dtype), x, vmap_method="sequential") + 1
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_allclose(jax.jit(f)(x), np.sin(x).T + 1, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.vmap(f))(np.stack([x, -x])), np.stack([np.sin(x).T, -np.sin(x).T]) + 1, rtol=1e-6)
        for dtype in (jnp.bfloat16, jnp.float8_e4m3fn, np.complex64, np.bool_, np.int8, jnp.int4):
            y = jnp.ones((2, 0, 3), dtype), jnp.ones((3,), dtype)
            z = jax.jit(lambda y: jax.pure_callback(lambda y: y, jax.tree.map(jnp.zeros_like, y), y))(y)
            assert z[0].shape == (2, 0, 3) and (z[1] == y[1]).all(), (dtype, z)
        # Programs with effects go in order, and a barrier waits for all of them.
        show = jax.jit(lambda x, n: jax.debug.print("{n}", n=n + 0 * (x @ x).sum().astype(int)))
        for n in range(3):
            show(jnp.zeros((500 >> n,) * 2), n)
        jax.effects_barrier()
        @jax.jit
        def loop(n):
            def body(i, carry):
                jax.debug.print("step {i} {c}", i=i, c=carry, ordered=True)
                return carry + i
            return jax.lax.fori_loop(0, n, body, 0)
        loop(3)
        jax.effects_barrier()
        """
    )
    assert out.splitlines() == ["0", "1", "2", "step 0 0", "step 1 0", "step 2 1"]


def test_a_callback_runs_once_a_program_and_once_a_shard():
    out, _ = run(
        """
        from jax.sharding import NamedSharding, PartitionSpec as P
        mesh = jax.sharding.Mesh(jax.devices(), ("d",))
        x = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, P("d")))
        seen = []
        def host(x):
            seen.append(np.asarray(x).tolist())
            return -np.asarray(x)
        call = lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        assert jax.jit(call, out_shardings=NamedSharding(mesh, P("d")))(x).tolist() == [0, -1, -2, -3]
        assert seen == [[0, 1, 2, 3]], seen
        seen.clear()
        assert jax.jit(jax.shard_map(call, mesh=mesh, in_specs=P("d"), out_specs=P("d")))(x).tolist() == [0, -1, -2, -3]
        assert sorted(seen) == [[0, 1], [2, 3]], seen
        """
    )


def test_a_callback_of_a_branch_that_is_known_runs_once():
    run(
        """
        from jax.experimental import io_callback
        seen = []
        for ordered in (False, True):
            def told(x):
                io_callback(lambda x: seen.append(float(x)), None, x, ordered=ordered)
                return x + 1
            f = jax.jit(lambda x: jax.lax.switch(np.int32(1), [lambda x: x, told], x))
            assert f(jnp.float32(3)) == 4
        jax.effects_barrier()
        assert seen == [3, 3], seen
        """
    )


@pytest.mark.parametrize("threads", ["1", "2"])
def test_callbacks_may_run_jax_and_do_not_wait_for_each_other(threads):
    run(
        """
        import threading
        together = threading.Barrier(2, timeout=60)
        def host(x):
            together.wait()  # both devices are in it at once
            return np.asarray(jax.jit(lambda x: x @ x.T)(x))
        f = lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((3, 3), x.dtype), x)
        x = jnp.arange(12.0).reshape(2, 3, 2)
        mesh = jax.sharding.Mesh(jax.devices(), ("d",))
        y = jax.jit(jax.shard_map(lambda x: f(x[0])[None], mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d")))(x)
        np.testing.assert_array_equal(y, x @ x.swapaxes(1, 2))
        # More of them under way than the device takes runs at once.
        g = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(jnp.sin(x) + 1), x, x))
        for out in [g(jnp.float32(i)) for i in range(60)]:
            out.block_until_ready()
        """,
        SHOAL_THREADS=threads,
    )


def test_an_exception_reaches_the_caller_and_nothing_is_broken():
    run(
        """
        def host(x):
            if x < 0: raise ValueError("negative: " + str(x))
            return x
        f = jax.jit(lambda x: jax.pure_callback(host, x, x) + 1)
        for _ in range(3):
            try:
                f(jnp.float32(-2)).block_until_ready()
                raise SystemExit("no error")
            except jax.errors.JaxRuntimeError as e:
                assert "ValueError: negative: -2.0" in str(e), e
            assert f(jnp.float32(2)) == 3
        # A barrier tells of it too, for who has dropped the result; once.
        try:
            jax.effects_barrier()
        except jax.errors.JaxRuntimeError as e:
            assert "negative" in str(e)
        jax.effects_barrier()
        """
    )


def test_shardings_are_inspected():
    out, _ = run(
        """
        from jax.sharding import NamedSharding, PartitionSpec as P
        mesh = jax.sharding.Mesh(jax.devices(), ("d",))
        split = NamedSharding(mesh, P("d"))
        def f(x):
            y = jax.lax.with_sharding_constraint(x @ x.T, NamedSharding(mesh, P(None, "d")))
            jax.debug.inspect_array_sharding(y, callback=lambda s: print(s.is_equivalent_to(NamedSharding(mesh, P(None, "d")), 2)))
            return y
        jax.jit(f, in_shardings=split)(jnp.ones((4, 6)))
        """
    )
    assert out.splitlines() == ["True"]


def test_buffer_callbacks_write_into_memory_and_have_no_stream():
    run(
        """
        from jax.experimental.buffer_callback import buffer_callback
        def host(context, out, x):
            np.asarray(out)[...] = np.asarray(x) * 2
            try:
                context.stream
            except jax.errors.JaxRuntimeError as e:
                assert str(e).startswith("UNIMPLEMENTED: XLA FFI GPU context is not available"), e
            else:
                raise AssertionError("no error")
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(jax.jit(buffer_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype)))(x), 2 * x)
        """
    )


def test_untyped_functions_of_the_user(tmp_path):
    (tmp_path / "untyped.cc").write_text(
        """
        #include <cstddef>
        #include <optional>
        #include <string>
        struct XlaCustomCallStatus { std::optional<std::string> message; };  // what XLA's own source has
        extern "C" void two(void** out, const void** in) {
          const float* x = (const float*)in[0];
          for (int i = 0; i < 3; ++i) ((float*)out[0])[i] = 2 * x[i], ((int*)out[1])[i] = (int)x[i] + ((const int*)in[1])[0];
        }
        extern "C" void failing(float* out, const void** in, XlaCustomCallStatus* status) {
          out[0] = ((const float*)in[0])[0];
          if (out[0] < 0) status->message = "it is below zero";
        }
        extern "C" void opaque(float* out, const void**, const char* text, size_t size, XlaCustomCallStatus*) {
          out[0] = size;
          out[1] = text[0];
        }
        """
    )
    run(
        f"""
        import ctypes, subprocess
        library = "{tmp_path}/untyped.so"
        subprocess.run(["clang++-19", "-std=c++17", "-shared", "-fPIC", "-o", library, "{tmp_path}/untyped.cc"], check=True)
        functions = ctypes.CDLL(library)
        for name in ("two", "failing", "opaque"):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(functions, name)), platform="cpu", api_version=0)
        f32 = lambda *dims: jax.ShapeDtypeStruct(dims, np.float32)
        x = np.array([1, 2, 5], np.float32)
        two = jax.ffi.ffi_call("two", (f32(3), jax.ShapeDtypeStruct((3,), np.int32)), custom_call_api_version=1)
        y, n = jax.jit(two)(x, np.array([7], np.int32))
        assert y.tolist() == [2, 4, 10] and n.tolist() == [8, 9, 12]
        failing = jax.jit(jax.ffi.ffi_call("failing", f32(1), custom_call_api_version=2))
        assert failing(x[:1]).tolist() == [1]
        try:
            failing(-x[:1]).block_until_ready()
            raise SystemExit("no error")
        except jax.errors.JaxRuntimeError as e:
            assert "'failing'" in str(e) and "it is below zero" in str(e), e
        opaque = jax.ffi.ffi_call("opaque", f32(2), custom_call_api_version=3, legacy_backend_config="hello")
        assert jax.jit(opaque)(x).tolist() == [5, ord("h")]
        """
    )
