"""Costs: flops and transcendentals are those that XLA's cost analysis counts on the same module."""

import hlo_oracle
import pytest
from built import ROOT

STEMS = ["abs", "add", "atan2", "broadcast", "clamp", "compare", "concatenate", "convert", "convolution", "cosine", "divide", "dot",
         "dynamic_slice", "dynamic_update_slice", "exponential", "gather", "iota", "logistic", "maximum", "pad", "power",
         "reduce", "reduce_window", "reshape", "rsqrt", "scatter", "select", "select_and_scatter", "slice", "tanh",
         "transpose", "tuple", "while", "conditional", "call", "fusion"]


def ours(proto):
    lines = hlo_oracle.convert(proto, into="proto", out="cost").decode().splitlines()
    return {name: float(value) for name, value in (line.split("=") for line in lines)}


def xla(proto):
    module = hlo_oracle.xc.hlo.HloModule.from_serialized_hlo_module_proto(proto)
    return hlo_oracle.xc._xla.hlo_module_cost_analysis(hlo_oracle.jax.devices("cpu")[0].client, module)


@pytest.mark.parametrize("stem", STEMS)
def test_counts_as_xla(stem):
    path = ROOT / "tests" / "ops" / f"{stem}.hlo"
    proto = hlo_oracle.convert(path.read_bytes(), out="proto")
    expected, actual = xla(proto), ours(proto)
    print(expected, actual)
    assert actual["flops"] == max(expected.get("flops", 0), 0)
    assert actual["transcendentals"] == expected.get("transcendentals", 0)
    assert actual["bytes accessed"] == pytest.approx(expected["bytes accessed"], rel=0.25, abs=16)
