"""Operations that JAX on a CPU never emits, or that take the whole way from StableHLO to a result: NumPy is the oracle.

A program of operations that jax.lax does not have is a primitive that is lowered to them.
"""

from plugin_test import installed, run  # noqa: F401

PRIMITIVES = """
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo
    from jax.extend.core import Primitive

    def call(build, *arguments, results):
        # jit of the operations that `build` makes of the arguments' MLIR values; `results` are their shapes and types.
        primitive = Primitive("p")
        primitive.multiple_results = True
        primitive.def_abstract_eval(lambda *_: [jax.core.ShapedArray(shape, np.dtype(dtype)) for shape, dtype in results])
        mlir.register_lowering(primitive, lambda ctx, *values: build(*values))
        return [np.asarray(x) for x in jax.jit(lambda *a: primitive.bind(*a))(*arguments)]

    def ints(*values):
        return hlo.constant(ir.DenseElementsAttr.get(np.array(values, np.int64)))
"""


def test_batch_normalisation():
    run(PRIMITIVES + """
    r = np.random.default_rng(0)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12), (jnp.bfloat16, 3e-2)):
        jax.config.update("jax_enable_x64", True)
        x, g = (r.standard_normal((3, 5, 7)) * 2 + 1).astype(dtype), r.standard_normal((3, 5, 7)).astype(dtype)
        scale, offset, mean, variance = (np.abs(r.standard_normal(5)).astype(dtype) for _ in range(4))
        at = lambda v: np.asarray(v, np.float64).reshape(1, 5, 1)
        wide, eps = np.asarray(x, np.float64), 0.125
        feature = lambda: dict(epsilon=ir.FloatAttr.get_f32(eps), feature_index=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1))
        near = lambda got, want: np.testing.assert_allclose(np.asarray(got, np.float64), want, tolerance, tolerance)

        y, = call(lambda *v: hlo.batch_norm_inference(*v, **feature()).owner.results, x, scale, offset, mean, variance,
                  results=[(x.shape, dtype)])
        near(y, (wide - at(mean)) / np.sqrt(at(variance) + eps) * at(scale) + at(offset))

        y, m, v = call(lambda *v: hlo.batch_norm_training(*v, **feature()), x, scale, offset,
                       results=[(x.shape, dtype), ((5,), dtype), ((5,), dtype)])
        near(m, wide.mean((0, 2)))
        near(v, wide.var((0, 2)))
        near(y, (wide - at(wide.mean((0, 2)))) / np.sqrt(at(wide.var((0, 2))) + eps) * at(scale) + at(offset))

        # The gradient is that of the training form; here by its definition, from the statistics given.
        dx, dscale, doffset = call(lambda *v: hlo.batch_norm_grad(*v, **feature()), x, scale, mean, variance, g,
                                   results=[(x.shape, dtype), ((5,), dtype), ((5,), dtype)])
        wide_g, centred, rest = np.asarray(g, np.float64), wide - at(mean), at(variance) + eps
        total = lambda a: at(a.sum((0, 2)))
        near(doffset, wide_g.sum((0, 2)))
        near(dscale, (wide_g * centred / np.sqrt(rest)).sum((0, 2)))
        near(dx, at(scale) / np.sqrt(rest) / 21 * (21 * wide_g - total(wide_g) - total(wide_g * centred) * centred / rest))
    """)


def test_dynamic_operations_with_known_sizes():
    run(PRIMITIVES + """
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    zero = lambda: hlo.constant(ir.DenseElementsAttr.get(np.float32(-1)))
    y, = call(lambda v: [hlo.real_dynamic_slice(ir.RankedTensorType.get((2, 3), ir.F32Type.get()), v, ints(1, 0), ints(4, 5), ints(2, 2))],
              x, results=[((2, 3), np.float32)])
    np.testing.assert_array_equal(y, x[1:4:2, 0:5:2])
    y, = call(lambda v: [hlo.dynamic_pad(ir.RankedTensorType.get((6, 10), ir.F32Type.get()), v, zero(), ints(1, -1), ints(1, 2), ints(0, 1))],
              x, results=[((6, 10), np.float32)])
    spread = np.full((4, 9), -1, np.float32)
    spread[:, ::2] = x
    np.testing.assert_array_equal(y, np.pad(spread[:, 1:], ((1, 1), (0, 2)), constant_values=-1))
    """)


def test_scan_from_the_last_element():
    run(PRIMITIVES + """
    from jax._src.lib.mlir.dialects import chlo
    x = np.random.default_rng(2).integers(-9, 9, (3, 5, 2)).astype(np.int32)
    for reverse in (False, True):
        def build(v):
            row = ir.RankedTensorType.get((3, 2), ir.IntegerType.get_signless(32))
            start = hlo.constant(ir.DenseElementsAttr.get(np.full((3, 2), 7, np.int32)))
            op = chlo.ScanOp([v.type, v.type], [row], [v], [start], dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1),
                             is_reverse=ir.BoolAttr.get(reverse))
            with ir.InsertionPoint(op.body.blocks.append(row, row)) as at:
                element, carry = at.block.arguments
                hlo.return_([carry, hlo.subtract(element, carry), hlo.subtract(element, carry)])
            return op.results
        before, after, last = call(build, x, results=[(x.shape, np.int32)] * 2 + [((3, 2), np.int32)])
        carry, order = np.full((3, 2), 7, np.int32), range(5)[::-1] if reverse else range(5)
        for i in order:
            np.testing.assert_array_equal(before[:, i], carry)
            carry = x[:, i] - carry
            np.testing.assert_array_equal(after[:, i], carry)
        np.testing.assert_array_equal(last, carry)
    """)


def test_what_the_host_cannot_do_is_refused_in_words():
    _, err = run(PRIMITIVES + """
    try:
        call(lambda v: [hlo.infeed([ir.RankedTensorType.get((3,), ir.F32Type.get()), hlo.TokenType.get()], hlo.create_token(), layout=None)[0]],
             np.zeros(3, np.float32), results=[((3,), np.float32)])
    except Exception as error:
        assert "stablehlo.infeed" in str(error) and "io_callback" in str(error), error
    else:
        raise AssertionError("infeed was taken")
    """)


def test_stateful_random_numbers():
    run("""
    from jax import lax
    uniform = jax.jit(lambda: lax.rng_uniform(np.float32(-2), np.float32(3), (40000,)))
    a, b = np.asarray(uniform()), np.asarray(uniform())
    assert (a != b).mean() > 0.99  # another state each time
    assert a.min() >= -2 and a.max() < 3 and abs(a.mean() - 0.5) < 0.05 and abs(a.std() - 5 / 12 ** 0.5) < 0.05
    counts = np.bincount(np.asarray(jax.jit(lambda: lax.rng_uniform(3, 8, (50000,)))()), minlength=8)
    assert (counts[:3] == 0).all() and (abs(counts[3:] - 10000) < 600).all(), counts
    # In a loop, and the same on all devices where the result is replicated.
    mesh = jax.sharding.Mesh(jax.devices(), "x")
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    loop = jax.jit(lambda: lax.map(lambda i: lax.rng_uniform(0.0, 1.0, (5,)), jnp.arange(4)), out_shardings=everywhere)
    y = loop()
    assert len({row.tobytes() for row in np.asarray(y)}) == 4
    assert len({np.asarray(shard.data).tobytes() for shard in y.addressable_shards}) == 1
    """)


def test_approximate_top_k_is_exact_here():
    run("""
    x = np.random.default_rng(0).standard_normal((3, 301)).astype(np.float32)
    for f, order in ((jax.lax.approx_max_k, -x), (jax.lax.approx_min_k, x)):
        values, places = jax.jit(lambda v: f(v, 7))(x)
        want = np.argsort(order, axis=1, kind="stable")[:, :7]
        np.testing.assert_array_equal(places, want)
        np.testing.assert_array_equal(values, np.take_along_axis(x, want, 1))
    """)


def test_where_the_specification_and_jaxlib_differ():
    run(PRIMITIVES + """
    # Complex numbers in order of real part, then imaginary part; a NaN wins. So has NumPy it.
    x, y = np.meshgrid(*[np.array([a + 1j * b for a in (-1, 0, 2) for b in (-3, 0.5, np.nan)], np.complex64)] * 2)
    both = call(lambda a, b: [hlo.maximum(a, b), hlo.minimum(a, b)], x, y, results=[(x.shape, np.complex64)] * 2)
    for got, want in zip(both, (np.maximum(x, y), np.minimum(x, y))):
        np.testing.assert_array_equal(got, want)
    # A format without mantissa has no NaN: StableHLO's tests/interpret/reduce_precision.mlir.
    got = np.asarray(jax.jit(lambda v: jax.lax.reduce_precision(v, 5, 0))(np.float32([np.nan, np.inf, 1.4, 1.6])))
    np.testing.assert_array_equal(got, np.float32([np.inf, np.inf, 1, 2]))
    """)


def test_complex_clamp_and_real_products_of_complex_numbers():
    run("""
    r = np.random.default_rng(0)
    x, y = ((r.standard_normal(s) + 1j * r.standard_normal(s)).astype(np.complex64) for s in ((3, 4), (4, 5)))
    got = jax.jit(lambda a: jax.lax.clamp(np.complex64(-0.5 + 1j), a, np.complex64(0.5 - 1j)))(x)
    np.testing.assert_array_equal(got, np.minimum(np.maximum(x, np.complex64(-0.5 + 1j)), np.complex64(0.5 - 1j)))
    got = jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.float32))(x, y)
    np.testing.assert_allclose(got, (x @ y).real, rtol=1e-5, atol=1e-5)
    """)


def test_asynchronous_collectives_and_control_dependencies():
    run("""
    from jax._src.lax import parallel
    from jax.experimental.control_deps import schedule
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
    jax.set_mesh(mesh)
    ring = [(0, 1), (1, 2), (2, 3)]  # nobody sends to the first

    def all_kinds(x):
        started = [parallel.psum_start(x, "i"), parallel.all_gather_start(x, "i", tiled=True),
                   parallel.psum_scatter_start(x, "i", scatter_dimension=0, tiled=True),
                   parallel.all_to_all_start(x, "i", split_axis=0, concat_axis=1, tiled=True),
                   parallel.ppermute_start(x, "i", ring)]
        y = x @ x[:3].T
        done = [s.done() for s in started]
        schedule([started[-1].x, y, done[0]])
        return y, *done

    # In a loop too, as jax.experimental.control_deps is meant to be used.
    def pipelined(x):
        def step(carry, _):
            y, total = carry
            future = parallel.ppermute_start(y, "i", ring)
            total = total + y
            y = future.done()
            schedule([future.x, total, y])
            return (y, total), None
        (last, total), _ = jax.lax.scan(step, (x, jnp.zeros_like(x)), None, length=3)
        return total + last

    P = jax.P("i")
    x = np.random.default_rng(0).integers(-9, 9, (32, 3)).astype(np.float32)
    arg = jax.device_put(x, jax.sharding.NamedSharding(mesh, P))
    y, total, gathered, scattered, exchanged, sent = map(np.asarray, jax.jit(
        jax.shard_map(all_kinds, out_specs=(P,) * 6, check_vma=False))(arg))
    parts = x.reshape(4, 8, 3)
    np.testing.assert_array_equal(y, np.concatenate([p @ p[:3].T for p in parts]))
    np.testing.assert_array_equal(total, np.tile(parts.sum(0), (4, 1)))
    np.testing.assert_array_equal(gathered, np.tile(x, (4, 1)))
    np.testing.assert_array_equal(scattered, parts.sum(0))
    np.testing.assert_array_equal(exchanged, np.concatenate(
        [np.concatenate([p[2 * d:2 * d + 2] for p in parts], 1) for d in range(4)]))
    shift = lambda v: np.concatenate([np.zeros((8, 3), np.float32), v[:-8]])
    np.testing.assert_array_equal(sent, shift(x))
    got = jax.jit(jax.shard_map(pipelined, out_specs=P, check_vma=False))(arg)
    np.testing.assert_array_equal(got, x + shift(x) + shift(shift(x)) + shift(shift(shift(x))))
    """, SHOAL_NUM_DEVICES="4")


def test_collectives_read_parts_of_arguments():
    # Where they lie (core/memory/liveness.h), or copied where they lie in several pieces or are needed otherwise too.
    run("""
    mesh = jax.make_mesh((4,), ("i",))
    P = jax.P("i")
    x = np.random.default_rng(0).integers(-9, 9, (4, 8, 3)).astype(np.float32)
    z = np.random.default_rng(1).integers(-9, 9, (4, 24)).astype(np.float32)

    def parts(x, z):
        rows, row, columns, shared, flat = x[0, 2:5], x[0, 6, 1:], x[0, :, :2], x[0, 3:7], x[0].reshape(24)[5:16]
        return (jax.lax.all_gather(rows, "i"), jax.lax.psum(row, "i"), jax.lax.all_gather(columns, "i"),
                jax.lax.psum(shared, "i") - shared, jax.lax.ppermute(flat, "i", [(d, (d + 1) % 4) for d in range(4)]),
                jax.lax.all_gather(z[0, 12:18], "i", tiled=True), z * 2, jax.lax.psum(x[0, 1], "i"),
                jax.lax.psum_scatter(x[0, 4:], "i"))

    def want(x, z):
        s = x.sum(0)
        same = [x[:, 2:5], s[6, 1:], x[:, :, :2]]
        return [*(np.broadcast_to(w, (4, *w.shape)) for w in same), s[3:7] - x[:, 3:7],
                np.roll(x.reshape(4, 24)[:, 5:16], 1, 0), np.broadcast_to(z[:, 12:18].ravel(), (4, 24)), z * 2,
                np.broadcast_to(s[1], (4, 3)), s[4:]]

    f = jax.jit(jax.shard_map(parts, mesh=mesh, in_specs=(P, P), out_specs=(P,) * 9, check_vma=False), donate_argnums=1)
    where = jax.sharding.NamedSharding(mesh, P)
    arg = jax.device_put(x, where)
    got = f(arg, jax.device_put(z, where))
    for a, b in zip(got, want(x, z), strict=True):
        np.testing.assert_array_equal(np.asarray(a).reshape(b.shape), b)
    np.testing.assert_array_equal(arg, x)
    """, SHOAL_NUM_DEVICES="4")


def test_replicas_of_partitions():
    # StableHLO's tests/interpret/{replica_id,partition_id,collective_broadcast}.mlir, with two replicas of two partitions.
    run("""
    from jax._src.lib import xla_client
    text = '''module @m attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} {
      func.func public @main() -> (tensor<ui32>, tensor<ui32>, tensor<ui32>) {
        %r = stablehlo.replica_id : tensor<ui32>
        %p = stablehlo.partition_id : tensor<ui32>
        %ten = stablehlo.constant dense<10> : tensor<ui32>
        %0 = stablehlo.multiply %r, %ten : tensor<ui32>
        %1 = stablehlo.add %0, %p : tensor<ui32>
        %2 = stablehlo.add %1, %ten : tensor<ui32>
        %b = "stablehlo.collective_broadcast"(%2) {replica_groups = dense<[[1]]> : tensor<1x1xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<ui32>) -> tensor<ui32>
        return %r, %p, %b : tensor<ui32>, tensor<ui32>, tensor<ui32>
      }
    }'''
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 2, 2
    options.executable_build_options.use_spmd_partitioning = True
    devices = jax.devices()
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(4).reshape(2, 2))
    run = devices[0].client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options)
    outs = run.execute_sharded([]).disassemble_into_single_device_arrays()
    replica, partition, broadcast = ([int(x) for x in parts] for parts in outs)
    assert replica == [0, 0, 1, 1] and partition == [0, 1, 0, 1], (replica, partition)
    assert broadcast == [0, 11, 0, 21], broadcast  # the others are in no group
    """, SHOAL_NUM_DEVICES="4")


def test_special_functions_of_unknown_dimensions():
    """They are computed in wider types, in which JAX counts dimensions in int64."""
    run("""
        import scipy.special
        from jax import export
        f = lambda x: jax.lax.lgamma(x) + jax.lax.erfc(jnp.concatenate([x, x], 0)[: x.shape[0]]) * jax.scipy.special.i0e(x)
        shape = export.symbolic_shape("a, b")
        exported = export.export(jax.jit(f))(jax.ShapeDtypeStruct(shape, jnp.float32))
        for size in ((3, 5), (4, 7)):
            x = np.random.default_rng(0).uniform(0.5, 3, size).astype(np.float32)
            want = scipy.special.gammaln(x) + scipy.special.erfc(x) * scipy.special.i0e(x)
            np.testing.assert_allclose(exported.call(x), want, 1e-5, 1e-6)
    """)


def test_map_with_a_loop():
    run("""
    from jax._src.lib import xla_client
    text = '''func.func public @main(%x: tensor<3x5xi32>, %y: tensor<3x5xi32>) -> tensor<3x5xi32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r = "stablehlo.map"(%x, %y) ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %g:2 = stablehlo.while(%p = %a, %q = %b) : tensor<i32>, tensor<i32> cond {
            %more = stablehlo.compare NE, %q, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %more : tensor<i1>
          } do {
            %rest = stablehlo.remainder %p, %q : tensor<i32>
            stablehlo.return %q, %rest : tensor<i32>, tensor<i32>
          }
          %sum = stablehlo.add %g#0, %zero : tensor<i32>
          stablehlo.return %sum : tensor<i32>
      }) {dimensions = array<i64: 0, 1>} : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
      return %r : tensor<3x5xi32>
    }'''
    x, y = np.random.default_rng(2).integers(0, 60, (2, 3, 5)).astype(np.int32)
    device = jax.devices()[0]
    loaded = device.client.compile_and_load(text, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    out = loaded.execute_sharded([jnp.asarray(x), jnp.asarray(y)]).disassemble_into_single_device_arrays()
    np.testing.assert_array_equal(out[0][0], np.gcd(x, y))
    """)
