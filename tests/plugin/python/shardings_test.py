"""What JAX can say about where arrays lie and how: custom_partitioning, GSPMD's annotations, layouts. NumPy is the oracle."""

from plugin_test import installed, run  # noqa: F401

MESH = """
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    if len(jax.devices()) == 8:
        mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    put = lambda array, *spec: jax.device_put(array, NamedSharding(mesh, P(*spec)))
    r = np.random.default_rng(0)
"""

CUSTOM = MESH + """
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def product(a, b):  # and the greatest entry, a scalar; erf is chlo's, not StableHLO's
        c = jax.scipy.special.erf(a @ b)
        return c, c.max()

    seen = []
    def partition(mesh, operands, results):
        a, b = (o.sharding.spec for o in operands)
        seen.append((a, b))
        def local(a_part, b_part):
            width, i = b_part.shape[0], jax.lax.axis_index("y")
            a_part = jax.lax.dynamic_slice_in_dim(a_part, i * width, width, axis=1)
            c = jax.scipy.special.erf(jax.lax.psum(a_part @ b_part, "y"))
            return c, jax.lax.pmax(c.max(), "x")
        at = lambda *spec: NamedSharding(mesh, P(*spec))
        return mesh, local, (at("x", None), at()), (at("x", None), at("y", None))
    product.def_partition(partition, sharding_rule="i k, k j -> i j, ", reduction_factors=("k",),
                          infer_sharding_from_operands=lambda mesh, *_: (NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())))

    from scipy.special import erf
    def check():
        a, b = r.standard_normal((8, 6), np.float32), r.standard_normal((6, 5), np.float32)
        c, greatest = jax.jit(product)(put(a, "x", None), put(b, "y", None))
        np.testing.assert_allclose(c, erf(a @ b), 1e-5, 1e-5)
        np.testing.assert_allclose(greatest, erf(a @ b).max(), 1e-5, 1e-5)
        assert c.sharding.spec[0] == "x" and seen, c.sharding
"""


def test_custom_partitioning_with_a_rule():
    run(CUSTOM + """
    check()
    assert seen[-1] == (P("x", None), P("y", None)), seen
    text = jax.jit(product).lower(put(np.ones((8, 6), np.float32), "x"), put(np.ones((6, 5), np.float32), "y")).compile().as_text()
    assert "all-reduce" in text and "all-gather" not in text, text
    """, SHOAL_NUM_DEVICES="8")


def test_custom_partitioning_says_what_is_wrong():
    run(MESH + """
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def same(a):
        return a
    at = NamedSharding(mesh, P("x"))
    same.def_partition(lambda mesh, *_: (mesh, lambda part: part[:1], at, (at,)), sharding_rule="i -> i")
    try:
        jax.jit(same)(put(np.arange(8.0), "x"))
    except Exception as error:
        assert "Mismatch in result shapes" in str(error), error
    else:
        raise AssertionError("a result of the wrong shape was taken")
    """, SHOAL_NUM_DEVICES="8")


def test_gspmd_takes_the_callbacks_place_of_the_rule():
    run("""
    jax.config.update("jax_use_shardy_partitioner", False)
    """ + CUSTOM + """
    check()
    """, SHOAL_NUM_DEVICES="8")


def test_gspmd_manual_regions():
    run("""
    jax.config.update("jax_use_shardy_partitioner", False)
    """ + MESH + """
    from functools import partial
    x = r.standard_normal((8, 6), np.float32)

    # All axes manual, in a loop, with something before and after.
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P("y", "x"), P()))
    def all_manual(part, factor):
        part = jax.lax.fori_loop(0, 3, lambda i, v: v + jax.lax.axis_index("x") * factor, part)
        return jax.lax.ppermute(part, "x", [(i, (i + 1) % 4) for i in range(4)]).T, jax.lax.psum(part.sum(), ("x", "y"))
    moved, total = all_manual(put(x, "x"), 2.0)
    want = x + 3 * 2.0 * (np.arange(8) // 2)[:, None]
    rolled = np.roll(want.reshape(4, 2, 2, 3), 1, 0)
    np.testing.assert_allclose(moved, rolled.transpose(2, 3, 0, 1).reshape(6, 8), 1e-6)
    np.testing.assert_allclose(total, want.sum(), 1e-5)

    # One axis manual, the other the partitioner's; the gradient too.
    @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    def one_manual(part):
        part = jax.lax.with_sharding_constraint(part, P(None, "y"))
        return jnp.sin(part) @ jnp.cos(part).T * jax.lax.psum(part.mean(), "x")
    f = jax.jit(lambda x: one_manual(x * 2).sum())
    parts = (x * 2).reshape(4, 2, 6)
    np.testing.assert_allclose(f(put(x, "x", "y")), np.einsum("pik,pjk->", np.sin(parts), np.cos(parts)) * parts.mean((1, 2)).sum(), 1e-4)
    jax.config.update("jax_use_shardy_partitioner", True)
    gradient = jax.jit(jax.grad(lambda x: one_manual(x * 2).sum()))(put(x, "x", "y"))
    jax.config.update("jax_use_shardy_partitioner", False)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: one_manual(x * 2).sum()))(put(x, "x", "y")), gradient, 1e-4, 1e-4)

    # Nothing goes in; what comes out is told apart by where it was made.
    ranks = jax.jit(jax.shard_map(lambda: jax.lax.axis_index(("x", "y"))[None], mesh=mesh, in_specs=(), out_specs=P(("x", "y"))))()
    np.testing.assert_array_equal(ranks, np.arange(8))
    """, SHOAL_NUM_DEVICES="8")


def test_gspmd_of_more_devices_than_a_string_lists():
    """JAX writes those as a serialized proto."""
    run("""
    jax.config.update("jax_use_shardy_partitioner", False)
    from jax.experimental import topologies
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    devices = np.array(topologies.get_topology_desc("any", "shoal", num_devices=128).devices)
    for order in np.arange(128), np.random.default_rng(0).permutation(128):
        mesh = jax.sharding.Mesh(devices[order].reshape(16, 8), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        x = jax.ShapeDtypeStruct((32, 24), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
        text = jax.jit(lambda x: x + 1, out_shardings=NamedSharding(mesh, P("x", "y"))).lower(x).compile().as_text()
        assert "f32[2,3]" in text and "all-" not in text and "permute" not in text, text
        f = jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, "y"))
        assert "all-reduce" in jax.jit(f).lower(x).compile().as_text()
    """)


# By XLA's own interface: JAX makes either replicas or partitions. Its IFRT takes results only that are whole everywhere.
def test_replicas_of_a_partitioned_program():
    run("""
    from jax._src.lib import xla_client as xc
    client = jax.devices()[0].client
    program = '''module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
      sdy.mesh @m = <["x"=4]>
      func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
          -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
        %b = stablehlo.slice %a [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
        %c = stablehlo.slice %a [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
        %r = stablehlo.concatenate %b, %c, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
        return %r, %s : tensor<8x8xf32>, tensor<8xf32>
      }
    }'''
    options = xc.CompileOptions()
    options.num_replicas, options.num_partitions = 2, 4
    build = options.executable_build_options
    build.num_replicas, build.num_partitions, build.use_spmd_partitioning, build.use_shardy_partitioner = 2, 4, True, True
    options.device_assignment = build.device_assignment = xc.DeviceAssignment.create(np.arange(8).reshape(2, 4))
    executable = client.compile_and_load(program, xc._xla.DeviceList(tuple(jax.devices())), options)
    x = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("p",))
    parts = [jax.device_put(x[r, 2 * p:2 * p + 2], jax.devices()[4 * r + p]) for r in range(2) for p in range(4)]
    array = jax.make_array_from_single_device_arrays((16, 8), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("p")), parts)
    moved, total = executable.execute_sharded([array]).disassemble_into_single_device_arrays()
    for r in range(2):
        for p in range(4):
            np.testing.assert_allclose(total[4 * r + p], x[r].sum(0), 1e-5, 1e-5)
            np.testing.assert_array_equal(moved[4 * r + p], np.roll(x[r], -1, 0))
    """, SHOAL_NUM_DEVICES="8")


def test_gspmd_sums_that_are_not_added_yet():
    run("""
    jax.config.update("jax_use_shardy_partitioner", False)
    from jax.sharding import AxisType, PartitionSpec as P
    x = np.arange(8, dtype=np.float32)
    with jax.set_mesh(jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))):
        parts = jax.device_put(x, P(unreduced={"x"}))
        assert parts.sharding.spec.unreduced == {"x"}, parts.sharding
        np.testing.assert_array_equal(sum(np.asarray(s.data) for s in parts.addressable_shards), x)
        np.testing.assert_array_equal(jax.reshard(parts, P()), x)
    """)


def test_gspmd_shards_alike():
    run("""
    jax.config.update("jax_use_shardy_partitioner", False)
    """ + MESH + """
    from jax.experimental.shard_alike import shard_alike
    x = np.arange(48.0, dtype=np.float32).reshape(8, 6)
    alike = jax.jit(lambda a: shard_alike(a, jnp.full(a.shape, 3.0))[1])(put(x, "x", "y"))
    assert alike.sharding.is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2), alike.sharding
    """, SHOAL_NUM_DEVICES="8")


def test_layouts_of_arguments_and_results():
    run(MESH + """
    from jax.experimental.layout import Format, Layout, with_layout_constraint
    at = NamedSharding(mesh, P("x", None, "y"))
    x = r.standard_normal((8, 5, 6), np.float32)
    order = Layout(major_to_minor=(2, 0, 1))
    laid = jax.device_put(x, Format(order, at))
    assert laid.format.layout.major_to_minor == (2, 0, 1), laid.format
    np.testing.assert_array_equal(laid, x)
    for shard in laid.addressable_shards:
        np.testing.assert_array_equal(shard.data, x[shard.index])
    np.testing.assert_array_equal(np.asarray(laid[3, 1:]), x[3, 1:])

    # Into a program and out of it, in another order, donated or not.
    other = Format(Layout(major_to_minor=(1, 2, 0)), at)
    for donate in ((), (0,)):
        f = jax.jit(lambda a, b: (a * 2 + b, a.sum(1)), in_shardings=(Format(order, at), None), out_shardings=(other, None),
                    donate_argnums=donate)
        y, total = f(jax.device_put(x, Format(order, at)), x)
        assert y.format.layout.major_to_minor == (1, 2, 0), y.format
        np.testing.assert_allclose(y, x * 3, 1e-6)
        np.testing.assert_allclose(total, x.sum(1), 1e-5, 1e-5)
    np.testing.assert_allclose(jax.jit(lambda a: a + 1)(y), x * 3 + 1, 1e-6)  # row-major again

    # The compiler's choice: a transpose that moves nothing.
    compiled = jax.jit(lambda a: a.T, out_shardings=Format(Layout.AUTO)).lower(jax.device_put(x, at)).compile()
    assert compiled.output_formats.layout.major_to_minor == (2, 1, 0), compiled.output_formats
    np.testing.assert_array_equal(compiled(jax.device_put(x, at)), x.T)
    assert "transpose" not in compiled.as_text(), compiled.as_text()

    # A buffer that lies otherwise than the program was compiled for is refused, not misread.
    g = jax.jit(lambda a: a * 2).lower(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=at)).compile()
    try:
        g(laid)
    except ValueError as error:
        assert "layout" in str(error), error
    else:
        raise AssertionError("an array of another layout was taken")
    """, SHOAL_NUM_DEVICES="8")


def test_layouts_that_compile_options_ask_for():
    run("""
    import ctypes
    from jax._src.lib import xla_client as xc
    from jax.experimental.layout import Format, Layout
    device = jax.devices()[0]
    x = np.random.default_rng(0).standard_normal((5, 3), np.float32)
    program = jax.jit(lambda a: (a * 2, a.sum(0))).lower(x).as_text()

    def shape(dims, layout):
        return xc.Shape.array_shape(np.dtype(np.float32), dims, layout)

    def compiled(argument, result):
        options = xc.CompileOptions()
        options.argument_layouts = [argument]
        options.executable_build_options.result_layout = xc.Shape.tuple_shape([result, shape((3,), (0,))])
        return device.client.compile_and_load(program, xc.DeviceList((device,)), options)

    columns = jax.device_put(x, Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(device)))
    for argument, given in ((shape((5, 3), (0, 1)), columns), (shape((5, 3), (1, 0)), jax.device_put(x, device))):
        for result in ((0, 1), (1, 0)):
            outs = compiled(argument, shape((5, 3), result)).execute_sharded([given]).disassemble_into_single_device_arrays()
            np.testing.assert_array_equal(outs[0][0], x * 2)
            np.testing.assert_allclose(outs[1][0], x.sum(0), 1e-5)
            # The array's format is what the program says; its bytes are as the options do.
            data = (ctypes.c_float * x.size).from_address(outs[0][0].unsafe_buffer_pointer())
            np.testing.assert_array_equal(np.frombuffer(data, np.float32), (x * 2).ravel("F" if result == (0, 1) else "C"))
    for argument, told in ((shape((3, 5), (0, 1)), "f32[3,5]"), (shape((5, 3, 1), (0, 1, 2)), "f32[5,3,1]")):
        try:
            compiled(argument, shape((5, 3), (1, 0)))
        except Exception as error:
            assert told in str(error) and "f32[5,3]" in str(error), error
        else:
            raise AssertionError("a layout of another array was taken")
    """)


def test_ragged_all_to_all():
    run(MESH + """
    # Device s sends sizes[s, t] rows to device t of its group, from wherever it has them to wherever t wants them.
    line = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
    for groups in (None, [[0, 2], [1, 3]]):
        width = 4 if groups is None else 2
        members = [range(4)] * 4 if groups is None else [next(g for g in groups if s in g) for s in range(4)]
        operand, output = r.standard_normal((4, 7, 3), np.float32), -np.ones((4, 9, 3), np.float32)
        sizes, starts, lands = (np.zeros((4, width), np.int32) for _ in range(3))
        want, end = output.copy(), np.zeros(4, int)
        for s in range(4):
            at = 0
            for j, t in enumerate(members[s]):
                n = (2 * s + t) % 3
                sizes[s, j], starts[s, j], lands[s, j] = n, at, end[t]
                want[t, end[t]:end[t] + n] = operand[s, at:at + n]
                at, end[t] = at + n, end[t] + n + (s == 1)
        received = np.array([[sizes[s, list(members[s]).index(t)] for s in members[t]] for t in range(4)], np.int32)
        f = jax.shard_map(lambda *a: jax.lax.ragged_all_to_all(*(v[0] for v in a), axis_name="d", axis_index_groups=groups)[None],
                          mesh=line, in_specs=P("d"), out_specs=P("d"), check_vma=False)
        compiled = jax.jit(f).lower(operand, output, starts, sizes, lands, received).compile()
        assert "ragged-all-to-all" in compiled.as_text(), compiled.as_text()
        np.testing.assert_array_equal(compiled(operand, output, starts, sizes, lands, received), want)
    """, SHOAL_NUM_DEVICES="4")


def test_broadcast_from_one_device():
    run(MESH + """
    x = r.standard_normal((8, 6), np.float32)
    f = jax.jit(jax.shard_map(lambda part: jax.lax.pbroadcast(part, "x", 2), mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y")))
    np.testing.assert_array_equal(f(x), np.tile(x[4:6], (4, 1)))
    """, SHOAL_NUM_DEVICES="8")


def test_vectors_are_sorted_part_by_part():
    run(MESH + """
    n = 8 * 1031
    at = NamedSharding(mesh, P(("y", "x")))
    floats = np.concatenate([r.standard_normal(n - 40), [np.nan] * 10, [np.inf] * 10, [-np.inf] * 10, [0.0, -0.0] * 5]).astype(np.float32)
    cases = {
        "floats": r.permutation(floats), "sorted": np.sort(floats), "backwards": np.sort(floats)[::-1].copy(),
        "few": r.integers(0, 3, n).astype(np.int32), "one": np.full(n, 7, np.uint32), "steps": np.repeat(np.arange(8, dtype=np.int32)[::-1], n // 8), "bytes": r.integers(0, 9, n).astype(np.int8),
    }
    for name, x in cases.items():
        lowered = jax.jit(lambda x: (jnp.sort(x), jnp.argsort(x, stable=True), jnp.sort(x, descending=True))).lower(jax.device_put(x, at))
        compiled = lowered.compile()
        if x.dtype.itemsize == 4:  # the others are so small that the steps would cost more than they save
            assert f"[{n}]" not in compiled.as_text().split("ENTRY", 1)[1], "a device holds all of it"
        up, order, down = compiled(jax.device_put(x, at))
        assert up.sharding.is_equivalent_to(at, 1), up.sharding
        np.testing.assert_array_equal(up, np.sort(x), err_msg=name)
        np.testing.assert_array_equal(order, np.argsort(x, stable=True), err_msg=name)
        np.testing.assert_array_equal(down, jax.jit(lambda x: jnp.sort(x, descending=True))(x), err_msg=name)
    keys, values = r.integers(0, 50, (2, n)), r.standard_normal(n)
    got = jax.jit(lambda *a: jax.lax.sort(a, num_keys=2))(*(jax.device_put(v.astype(np.float32), at) for v in (*keys, values)))
    order = np.lexsort((keys[1], keys[0]))
    for g, v in zip(got, (*keys, values)):
        np.testing.assert_array_equal(g, v[order].astype(np.float32))
    """, SHOAL_NUM_DEVICES="8")


def test_a_donated_argument_that_is_read_twice_is_gone():
    run("""
    for f in (lambda x: x * x, lambda x: x + x.T):
        x = jax.jit(lambda: jnp.ones((5, 5)))()
        np.testing.assert_array_equal(jax.jit(f, donate_argnums=0)(x), f(np.ones((5, 5))))
        assert x.is_deleted()
    """)


def test_manual_regions_over_several_meshes():
    """Each names the axes of its own mesh: other names, another shape, parts of the first one's axes, where jaxlib aborts."""
    run(MESH + """
    devices = np.array(jax.devices())
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    for rows, columns in ((4, 2), (2, 4), (8, 1), (1, 8)):
        other = jax.sharding.Mesh(devices.reshape(rows, columns), ("x2", "y2"))

        def f(x):
            x = jax.shard_map(lambda a: a + jax.lax.psum(a, "y"), mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))(x)
            spec = P("x2", "y2")
            x = jax.shard_map(lambda a: a * jax.lax.axis_index("y2") + jax.lax.psum(a, "x2"), mesh=other, in_specs=spec, out_specs=spec)(x)
            by_rows = lambda a: a + jax.lax.axis_index("x2")  # the columns are as the compiler likes
            return jax.shard_map(by_rows, mesh=other, in_specs=P("x2"), out_specs=P("x2"), axis_names={"x2"})(x)

        got = jax.jit(f, out_shardings=NamedSharding(mesh, P()))(x)
        y = x + np.tile(x.reshape(8, 2, 8).sum(1), 2)
        y = y * np.repeat(np.arange(columns), 16 // columns) + np.tile(y.reshape(rows, 8 // rows, 16).sum(0), (rows, 1))
        np.testing.assert_array_equal(got, y + np.repeat(np.arange(rows), 8 // rows)[:, None], f"{rows} x {columns}")
    """, SHOAL_NUM_DEVICES="8")
