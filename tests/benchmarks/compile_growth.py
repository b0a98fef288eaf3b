"""How compile time grows with a program, on Shoal and on JAX's own CPU backend.

    .venv/bin/python tests/benchmarks/compile_growth.py [CASE...]

Each case is compiled at n and 4n, in a process of its own a backend; printed are CPU seconds (all threads,
without tracing), which hold on a busy machine, and the growth from n to 4n: 4 is linear. A backend that takes
longer than LIMIT_S on a case is given up.
"""
import json
import os
import subprocess
import sys
import time

LIMIT_S = 300
PLATFORMS = ("shoal", "cpu")


def cases():
    """name: (n, function of n that gives a function and its arguments' shapes)."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    def f32(*shape, sharding=None):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    def chain(step, *shape):
        def make(n):
            def f(x):
                for i in range(n):
                    x = step(x, i)
                return x
            return f, (f32(*shape),)
        return make

    def nested(wrap):
        def make(n):
            f = jnp.sin
            for k in range(n):
                f = wrap(f, k)
            return f, (f32(100),)
        return make

    def parameters(n):
        return (lambda *xs: [x * 2 + 1 for x in xs]), [f32(30 + i % 7) for i in range(n)]

    def adam(n):
        def f(g, m, v, w):
            m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
            v = [0.99 * a + 0.01 * b * b for a, b in zip(v, g)]
            return m, v, [w - a / (jnp.sqrt(b) + 1e-8) for w, a, b in zip(w, m, v)]
        arrays = [f32(64, 30 + i % 7) for i in range(n)]
        return f, (arrays,) * 4

    def constant(n):
        table = np.arange(n, dtype=np.float32)
        return (lambda x: x + table), (f32(n),)

    def rnn(n):
        def loss(p, xs):
            h = jnp.zeros((8, 64))
            for t in range(n):
                h = jnp.tanh(h @ p[0] + xs[t] @ p[1])
            return (h * h).sum()
        return jax.grad(loss), ((f32(64, 64), f32(32, 64)), f32(n, 8, 32))

    def collectives(n):
        mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
        f, _ = chain(lambda x, i: lax.psum(x * 1.5, "x") + x)(n)
        rows = PartitionSpec("x")
        return (jax.shard_map(f, mesh=mesh, in_specs=rows, out_specs=rows),
                (f32(80, sharding=NamedSharding(mesh, rows)),))

    return {
        "adam": (250, adam),
        "collectives": (250, collectives),
        "conditionals": (10, nested(lambda f, k: lambda x: lax.cond(x[0] > k, f, jnp.cos, x))),
        "constant": (1 << 24, constant),
        "different": (125, lambda n: ((lambda x: [jnp.sort(x[:i + 3]) for i in range(n)]), (f32(9999),))),
        "dots": (500, chain(lambda x, i: x @ x, 16, 16)),
        "parameters": (2500, parameters),
        "rnn": (100, rnn),
        "rolls": (100, chain(lambda x, i: jnp.roll(x, 1 + i % 7), 1000)),
        "scalars": (500, chain(lambda x, i: x * 0.5 + jnp.sin(x))),
        "sines": (250, chain(lambda x, i: jnp.sin(x) + x, 1000)),
        "updates": (1000, chain(lambda x, i: x.at[i].set(x[i + 1] + 1), 5000)),
        "while_loops": (50, chain(lambda x, k: lax.fori_loop(0, k + 3, lambda i, y: jnp.cos(y) + i, x), 100)),
    }


def compile_seconds(case):
    import jax
    n, make = cases()[case]
    jax.jit(lambda x: x + 1)(1.0)  # starts the backend
    for size in (n, 4 * n):
        f, arguments = make(size)
        lowered = jax.jit(f).lower(*arguments)
        start = time.process_time()
        lowered.compile()
        print(json.dumps(time.process_time() - start), flush=True)


def measure(platform, case):
    environment = dict(os.environ, JAX_PLATFORMS=platform, SHOAL_NUM_DEVICES="8",
                       XLA_FLAGS="--xla_force_host_platform_device_count=8")
    try:
        run = subprocess.run([sys.executable, __file__, "--in-this-process", case], env=environment,
                             stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True)
    except subprocess.TimeoutExpired:
        return "more than %d s" % LIMIT_S
    small, big = map(float, run.stdout.split())
    return "%.2f -> %.2f s, x%.1f" % (small, big, big / small)


def main():
    table = cases()
    for case in sys.argv[1:] or table:
        told = ["%s %s" % (platform, measure(platform, case)) for platform in PLATFORMS]
        print("%-12s n=%d, 4n: %s" % (case, table[case][0], "; ".join(told)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in-this-process"]:
        compile_seconds(sys.argv[2])
    else:
        main()
