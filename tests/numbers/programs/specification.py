"""What StableHLO's specification has and JAX never writes. Expected: the specification's examples, ml_dtypes, NumPy."""

import pathlib
import sys

import jax
import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "specification"))
from suite import compiled  # noqa: E402

jax.config.update("jax_enable_x64", True)


def run(text, *arguments):
    """The results of a function body on one device."""
    return [parts[0] for parts in compiled(f"module @m {{ func.func public @main{text} }}", 1, 1)([[a] for a in arguments])]


def equal(got, want):
    np.testing.assert_array_equal(got, np.asarray(want))


# Quantised numbers, as bits (jaxlib dies of a result of such a type): by tensor and by axis, with bounds narrower than
# those of the storage type, to another scale, in a product of which one side is a float.
by_axis, narrow = "!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>", "!quant.uniform<i8<-5:6>:f32, 0.5:1>"
x = np.array([4, 15], np.float32)
stored, back, bounded = run(f"""(%x: tensor<2xf32>) -> (tensor<2xi8>, tensor<2xf32>, tensor<2xi8>) {{
    %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x{by_axis}>
    %d = stablehlo.uniform_dequantize %q : (tensor<2x{by_axis}>) -> tensor<2xf32>
    %n = stablehlo.uniform_quantize %q : (tensor<2x{by_axis}>) -> tensor<2x{narrow}>
    %b = stablehlo.bitcast_convert %n : (tensor<2x{narrow}>) -> tensor<2xi8>
    %s = stablehlo.bitcast_convert %q : (tensor<2x{by_axis}>) -> tensor<2xi8>
    return %s, %d, %b : tensor<2xi8>, tensor<2xf32>, tensor<2xi8> }}""", x)
equal(stored, np.array([10, 10], np.int8))
np.testing.assert_allclose(back, x, 1e-6)
equal(bounded, np.array([6, 6], np.int8))
a, b, c = "!quant.uniform<i8:f32, 0.1:-30>", "!quant.uniform<i8:f32, 0.5:-20>", "!quant.uniform<i8:f32, 0.5>"
total, product = run(f"""(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xi8>, tensor<f32>) {{
    %p = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x{a}>
    %q = stablehlo.uniform_quantize %y : (tensor<2xf32>) -> tensor<2x{b}>
    %s = "stablehlo.add"(%p, %q) : (tensor<2x{a}>, tensor<2x{b}>) -> tensor<2x{b}>
    %w = stablehlo.uniform_quantize %y : (tensor<2xf32>) -> tensor<2x{c}>
    %d = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x{c}>) -> tensor<f32>
    %r = stablehlo.bitcast_convert %s : (tensor<2x{b}>) -> tensor<2xi8>
    return %r, %d : tensor<2xi8>, tensor<f32> }}""", np.array([1, 2], np.float32), np.array([3, 4], np.float32))
equal(total, np.array([-12, -8], np.int8))
equal(product, np.float32(11))

# The bits of complex numbers, and one at a time.
z = (np.arange(6) + 1j * np.arange(1, 7)).reshape(2, 3) * 0.3
halves, whole, bits = run("""(%z: tensor<2x3xcomplex<f64>>, %x: tensor<3xi16>) ->
        (tensor<2x3x2xcomplex<f32>>, tensor<2x3xcomplex<f64>>, tensor<3x16xi1>) {
    %h = stablehlo.bitcast_convert %z : (tensor<2x3xcomplex<f64>>) -> tensor<2x3x2xcomplex<f32>>
    %w = stablehlo.bitcast_convert %h : (tensor<2x3x2xcomplex<f32>>) -> tensor<2x3xcomplex<f64>>
    %b = stablehlo.bitcast_convert %x : (tensor<3xi16>) -> tensor<3x16xi1>
    return %h, %w, %b : tensor<2x3x2xcomplex<f32>>, tensor<2x3xcomplex<f64>>, tensor<3x16xi1> }""",
                          z, np.array([0x1234, -2, 7], np.int16))
equal(halves, z.view(np.complex64).reshape(2, 3, 2))
equal(whole, z)
equal(bits, np.array([[(v >> k) & 1 for k in range(16)] for v in (0x1234, -2, 7)], bool))

# A scatter of selected elements in a wider type than theirs.
got, = run("""(%x: tensor<6xbf16>, %s: tensor<3xbf16>, %z: tensor<bf16>) -> tensor<6xf32> {
    %r = "stablehlo.select_and_scatter"(%x, %s, %z) ({
      ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
        %c = stablehlo.compare GE, %a, %b : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
    }) {window_dimensions = array<i64: 4>, window_strides = array<i64: 1>} :
        (tensor<6xbf16>, tensor<3xbf16>, tensor<bf16>) -> tensor<6xf32>
    return %r : tensor<6xf32> }""", np.array([0, 1, 5, 2, 4, 3], ml_dtypes.bfloat16),
           np.array([256, 1, 1], ml_dtypes.bfloat16), ml_dtypes.bfloat16(0))
equal(got, np.array([0, 0, 258, 0, 0, 0], np.float32))  # which bf16 cannot hold
