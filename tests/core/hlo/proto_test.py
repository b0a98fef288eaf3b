"""HloModuleProto both ways, with jaxlib at the other end: XLA prints from our bytes what it prints from our text, and we read what XLA
serializes."""
import re

import hlo_oracle
import pytest
from built import ROOT

CORPUS = sorted((ROOT / "tests" / "ops").glob("*.hlo"))
SHARDING = {"manual_computation", "reshard", "sharding_constraint"}  # these never reach other tools
NOT_XLA_TEXT = {"constant", "bitcast", "all_to_all"}  # NaN bits, two dimensions of an all-to-all


def xla_print(proto, canonical=False):
    module = hlo_oracle.xc.hlo.HloModule.from_serialized_hlo_module_proto(proto)
    kinds = hlo_oracle.xc.hlo.HloPrintOptions
    return module.to_string(kinds.canonical() if canonical else kinds.short_parsable())


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_round_trip(path):
    if path.stem in SHARDING:
        return
    text = path.read_bytes()
    proto = hlo_oracle.convert(text, out="proto")
    assert hlo_oracle.convert(proto, into="proto") == hlo_oracle.convert(text)
    with_config = hlo_oracle.convert(text, out="proto_with_config")
    assert hlo_oracle.convert(with_config, into="proto_with_config") == hlo_oracle.convert(text)


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_xla_reads_it_as_it_reads_the_text(path):
    if path.stem in SHARDING:
        return
    text = hlo_oracle.convert(path.read_bytes()).decode()
    proto = hlo_oracle.convert(path.read_bytes(), out="proto")
    printed = xla_print(proto)
    computation = hlo_oracle.xc.XlaComputation(proto)
    assert "HloModule" in computation.as_hlo_text()
    if path.stem in NOT_XLA_TEXT:
        return
    from_text = hlo_oracle.xc.hlo.hlo_module_from_text(text)
    assert printed == xla_print(from_text.as_serialized_hlo_module_proto())


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_we_read_what_xla_writes(path):
    if path.stem in SHARDING | NOT_XLA_TEXT:
        return
    text = hlo_oracle.convert(path.read_bytes())
    from_text = hlo_oracle.xc.hlo.hlo_module_from_text(text.decode())
    proto = from_text.as_serialized_hlo_module_proto()
    again = hlo_oracle.convert(proto, into="proto")
    assert xla_print(hlo_oracle.convert(again, out="proto")) == xla_print(proto)
    # And its text.
    assert hlo_oracle.convert(from_text.to_string().encode())


def test_transfers_with_the_host():
    """XLA's four instructions are the two custom calls that Shoal has; between devices is refused."""
    text = """HloModule exchange
    ENTRY main {
      x = f32[4] parameter(0)
      t = token[] after-all()
      s = (f32[4], u32[], token[]) send(x, t), channel_id=7, is_host_transfer=true
      sent = token[] send-done(s), channel_id=7, is_host_transfer=true
      r = (s8[3,5], u32[], token[]) recv(sent), channel_id=8, is_host_transfer=true
      received = (s8[3,5], token[]) recv-done(r), channel_id=8, is_host_transfer=true
      ROOT y = s8[3,5] get-tuple-element(received), index=0
    }"""
    proto = hlo_oracle.xc.hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    calls = [line for line in hlo_oracle.convert(proto, into="proto").decode().splitlines() if "custom-call(" in line]
    assert len(calls) == 2
    send, recv = calls
    assert 'target="shoal.host_send"' in send and 'backend_config="7"' in send and "= token[] custom-call(" in send
    assert 'target="shoal.host_recv"' in recv and 'backend_config="8"' in recv and "= (s8[3,5]{1,0}, token[]) " in recv
    between = hlo_oracle.xc.hlo.hlo_module_from_text(text.replace(", is_host_transfer=true", ""))
    with pytest.raises(Exception, match="between devices"):
        hlo_oracle.convert(between.as_serialized_hlo_module_proto(), into="proto")


def programs():
    import jax
    import jax.numpy as jnp

    def mlp(w, x):
        return jnp.mean(jax.nn.softmax(jnp.tanh(x @ w) @ w.T, axis=-1) ** 2)

    def loop(x):
        return jax.lax.scan(lambda c, i: (c * 2 + jnp.sin(i), c.sum()), x, jnp.arange(5.0, dtype=jnp.float32))

    f = lambda *dims: jax.ShapeDtypeStruct(dims, jnp.float32)
    yield "mlp_grad", jax.grad(mlp), (f(5, 7), f(3, 5))
    yield "scan", loop, (f(3),)
    yield "sort", lambda x: jnp.argsort(x, axis=0), (f(7, 3),)
    yield "gather", lambda x, i: x[i] + x.at[i].add(1.0)[0], (f(7, 3), jax.ShapeDtypeStruct((4,), jnp.int32))
    yield "conv", lambda x, k: jax.lax.conv_general_dilated(x, k, (2, 1), "SAME"), (f(2, 3, 9, 8), f(4, 3, 3, 3))
    yield "random", lambda k: jax.random.normal(k, (5,)), (jax.ShapeDtypeStruct((2,), jnp.uint32),)
    yield "cond", lambda p, x: jax.lax.cond(p, jnp.sin, jnp.cos, x), (jax.ShapeDtypeStruct((), jnp.bool_), f(3))


@pytest.mark.parametrize("program", list(programs()), ids=lambda p: p[0])
def test_programs_of_jax(program):
    """JAX's own HLO text and bytes read; our text and bytes of it are the same program to XLA."""
    import jax
    _, function, arguments = program
    lowered = jax.jit(function).lower(*arguments).compiler_ir("hlo")
    proto = lowered.as_serialized_hlo_module_proto()
    ours = hlo_oracle.convert(proto, into="proto")
    layouts = re.compile(r"\{[\d,]*\} ")  # XLA keeps a transpose's order of dimensions as a layout
    printed = [layouts.sub(" ", xla_print(p, canonical=True)) for p in (hlo_oracle.convert(ours, out="proto"), proto)]
    assert printed[0] == printed[1]
    from_text = hlo_oracle.convert(lowered.as_hlo_text().encode())
    args = hlo_oracle.inputs(ours.decode())
    before = hlo_oracle.run(ours.decode(), args)
    hlo_oracle.assert_same(before, hlo_oracle.run(from_text.decode(), args))
    hlo_oracle.assert_same(before, hlo_oracle.run(hlo_oracle.convert(ours, "optimize").decode(), args))
