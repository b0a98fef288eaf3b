"""What programs of StableHLO's testdata should give, in a wider type: whose value is nearer where the test's and Shoal's differ?"""

import re

import numpy as np

# Errors of these count beside the whole result, of the others beside each element.
LINEAR = ("conv", "cum", "fft", "triangular")


def truth(name, inputs, shape):
    """The result of the program, from NumPy or SciPy; None where nothing is known of it."""
    import scipy.fft
    import scipy.linalg

    wide = [x.astype(np.complex128 if np.iscomplexobj(x) else np.float64) for x in inputs]
    stem = re.match(r"[a-z0-9_]*?(?=_(?:bfloat16|complex|float))", name)
    x = wide[0]
    functions = {"cos": np.cos, "cosh": np.cosh, "expm1": np.expm1, "sin": np.sin, "sinh": np.sinh, "integer_pow": lambda: x**4,
                 "cumprod": lambda: np.cumprod(x, 0), "cumsum": lambda: np.cumsum(x, 0), "pow": lambda: np.power(*wide)}
    if stem and stem[0] in functions:
        function = functions[stem[0]]
        return function(x) if isinstance(function, np.ufunc) else function()
    if name.startswith("fft_"):  # in the widest type there is: those of f64 and c128 too
        x = inputs[0].astype(np.clongdouble if np.iscomplexobj(inputs[0]) else np.longdouble)
        if not np.iscomplexobj(x):
            return scipy.fft.rfft(x)
        # Three dimensions of c64, one of c128.
        return scipy.fft.irfftn(x, shape[1:]) if inputs[0].dtype == np.complex64 else scipy.fft.irfft(x, shape[-1])
    if name.startswith("triangular_solve_float32_2_8_8_float32_2_10_8"):  # x a = b, a upper
        a, b = wide
        return np.stack([scipy.linalg.solve_triangular(p, q.T, trans="T").T for p, q in zip(a, b)])
    if name.startswith("conv_general_dilated_float32_2_3_9_float32_12_1_3"):  # three groups, the window dilated by two
        x, w = wide
        taps = np.stack([x[:, :, 2 * k:2 * k + 5] for k in range(3)])
        return np.einsum("knfp,fck->nfcp", taps, w.reshape(3, 4, 3)).reshape(2, 12, 5)
    return None


def errors(name, inputs, *values):
    """How far each of `values` is from the truth (root mean square, relative); None where that is not known."""
    true = truth(name, inputs, values[0].shape)
    if true is None or any(v.shape != true.shape for v in values):
        return None
    scale = np.sqrt(np.mean(np.abs(true)**2)) if name.startswith(LINEAR) else np.abs(true)
    return [float(np.sqrt(np.mean(np.abs((v.astype(true.dtype) - true) / scale)**2))) for v in values]
