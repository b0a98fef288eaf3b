"""Programs over rows (softmax, norms, their gradients), whole programs through the plugin, against jaxlib's CPU."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

PROGRAM = textwrap.dedent(
    """
    import sys
    import jax, jax.numpy as jnp, numpy as np

    def norm(x, g, b):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * g + b

    def masked(x, g, b):  # softmax under a mask that is broadcast over the outer dimension
        square = jnp.tril(jnp.ones(x.shape[-2:], bool))
        return jax.nn.softmax(jnp.where(square, x * 0.3, -1e9), -1) @ jnp.ones((x.shape[-1], 2))

    def several(x, g, b):  # results of rows beside whole rows, two levels of reductions
        top = x.max(-1)
        e = jnp.exp(x - top[..., None])
        return e, e.sum(-1), jax.nn.logsumexp(x, -1), jax.nn.log_softmax(x, -1) * g

    programs = {
        "softmax": lambda x, g, b: jax.nn.softmax(x, -1),
        "norm": norm,
        "masked": masked,
        "several": several,
        "softmax_gradient": jax.grad(lambda x, g, b: (jax.nn.softmax(x * g, -1) ** 2).sum(), (0, 1)),
        "norm_gradient": jax.grad(lambda x, g, b: jnp.sin(norm(x, g, b)).sum(), (0, 1, 2)),
        "entropy": jax.grad(lambda x, g, b: -jax.nn.log_softmax(x)[..., 1].mean()),
    }
    results = {}
    shapes = ((7, 4), (3, 17, 17), (2, 1, 5, 64), (5, 4099), (2, 20001))
    for shape, dtype in [(shape, np.float32) for shape in shapes] + [((9, 131), jnp.bfloat16)]:
        r = np.random.default_rng(sum(shape))
        x, g, b = (jnp.asarray(r.standard_normal(s), dtype) for s in (shape, shape[-1:], shape[-1:]))
        for name, program in programs.items():
            if name == "masked" and len(shape) < 3:
                continue
            for i, out in enumerate(jax.tree.leaves(jax.jit(program)(x, g, b))):
                key = f"{name} {shape} {jnp.dtype(dtype).name} {i}"
                results[key] = np.asarray(out.astype(jnp.float32))
    donated = jax.jit(lambda x: jax.nn.softmax(x, -1), donate_argnums=0)
    results["donated"] = np.asarray(donated(jnp.asarray(np.arange(700, dtype=np.float32).reshape(10, 70) % 13)))
    np.savez(sys.argv[1], **results)
    """
)


def compute(platform, path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "JAX_", "XLA_"))}
    env["JAX_PLATFORMS"] = platform
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return np.load(path)


def test_rows_equal_jaxlib(tmp_path):
    shoal = pytest.importorskip("shoal")
    if not shoal.LIBRARY.exists():
        pytest.skip("the plugin is not installed")
    got, want = compute("shoal", tmp_path / "shoal.npz"), compute("cpu", tmp_path / "cpu.npz")
    assert len(want.files) > 60 and set(got.files) == set(want.files)
    for key in want.files:
        tolerance = 8e-2 if "bfloat16" in key else 2e-5  # a bf16 has 8 bits, and jaxlib rounds elsewhere
        scale = np.abs(want[key]).max()
        np.testing.assert_allclose(got[key], want[key], rtol=tolerance, atol=tolerance * scale, err_msg=key)
