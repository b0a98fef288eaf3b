"""Trains a small transformer whose parameters and batches are sharded over a mesh of all devices.

Plain JAX: nothing in this file is about Shoal. It runs on any number of processes and devices:

    JAX_PLATFORMS=shoal python examples/01_transformer_training.py
    JAX_PLATFORMS=shoal SHOAL_NUM_DEVICES=2 mpirun -n 2 python examples/01_transformer_training.py --check

The model learns the text of this file, a character at a time. It shows how arrays are sharded, a progress bar and the
tokens per second, and draws the loss curve into a PNG. With --check the same steps run once more on one device of JAX's
own CPU backend, in a process of its own, and the losses are compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

TOLERANCE = 1e-4  # of the losses, against one device


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parallel", choices=["2d", "dp", "tp", "fsdp"], default="2d",
                        help="dp: batches are sharded; tp: parameters are sharded, within layers; 2d: both; "
                             "fsdp: batches and parameters are sharded over the same axis (default 2d)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--batch", type=int, default=24, help="sequences a step, over all devices")
    parser.add_argument("--length", type=int, default=64, help="characters of a sequence")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", default="transformer_loss.png", metavar="PNG", help="empty: no plot")
    parser.add_argument("--check", action="store_true", help="compare the losses with one device of JAX's CPU backend")
    parser.add_argument("--losses-only", action="store_true", help="print the losses as JSON, and nothing else")
    return parser.parse_args()


# --- the mesh and the shardings --------------------------------------------------------------------------------------


def make_mesh(parallel):
    """All devices as (data, model): one column, one row, or as square as it gets."""
    devices = np.array(jax.devices())
    n = len(devices)
    model = {"dp": 1, "fsdp": 1, "tp": n}.get(parallel)
    if model is None:
        model = max(m for m in range(1, n + 1) if n % m == 0 and m * m <= n)
    return Mesh(devices.reshape(n // model, model), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


# Which dimension of each parameter the model axis shards: heads and hidden units, so that a layer needs one sum.
MODEL_DIMENSION = {"embed": 1, "query": 1, "key": 1, "value": 1, "output": 0, "up": 1, "down": 0, "unembed": 1}


def parameter_sharding(mesh, parallel, name, shape):
    axis, dimension = "model", MODEL_DIMENSION.get(name)
    if parallel == "fsdp":
        axis, dimension = "data", int(np.argmax(shape))
    spec = [None] * len(shape)
    if dimension is not None and shape[dimension] % mesh.shape[axis] == 0:
        spec[dimension] = axis
    return NamedSharding(mesh, P(*spec))


# --- the model -------------------------------------------------------------------------------------------------------


def init_parameters(key, vocabulary, options):
    d, h = options.width, options.heads
    layer = {"query": (d, h, d // h), "key": (d, h, d // h), "value": (d, h, d // h), "output": (h, d // h, d),
             "up": (d, 4 * d), "down": (4 * d, d), "scale1": (d,), "scale2": (d,)}
    shapes = {"embed": (vocabulary, d), "position": (options.length, d), "scale": (d,), "unembed": (d, vocabulary),
              "layers": [dict(layer) for _ in range(options.layers)]}
    leaves, tree = jax.tree.flatten_with_path(shapes, is_leaf=lambda x: isinstance(x, tuple))
    keys = jax.random.split(key, len(leaves))

    def make(key, path, shape):
        if name_of(path).startswith("scale"):
            return jnp.ones(shape)
        fan_in = {"output": d, "embed": 1, "position": 1}.get(name_of(path), shape[0])
        return jax.random.normal(key, shape) * (0.02 if fan_in == 1 else fan_in**-0.5)

    return jax.tree.unflatten(tree, [make(k, path, shape) for k, (path, shape) in zip(keys, leaves)])


def name_of(path):
    return path[-1].key


def normalize(x, scale):
    return x * scale * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def attention(x, p):
    q, k, v = (jnp.einsum("btd,dhe->bthe", x, p[name]) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) * q.shape[-1] ** -0.5
    length = x.shape[1]
    causal = jnp.arange(length)[:, None] >= jnp.arange(length)[None, :]
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
    return jnp.einsum("bhqk,bkhe,hed->bqd", weights, v, p["output"])


def logits_of(parameters, tokens):
    x = parameters["embed"][tokens] + parameters["position"]
    for p in parameters["layers"]:
        x = x + attention(normalize(x, p["scale1"]), p)
        x = x + jax.nn.gelu(normalize(x, p["scale2"]) @ p["up"]) @ p["down"]
    return normalize(x, parameters["scale"]) @ parameters["unembed"]


def loss_of(parameters, batch):
    logits = logits_of(parameters, batch[:, :-1])
    log_probability = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_probability, batch[:, 1:, None], axis=-1))


def adam(parameters, gradients, moments, step, rate):
    first, second = moments
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    a, b = 1 - 0.9**step, 1 - 0.99**step
    update = lambda p, m, v: p - rate * (m / a) / (jnp.sqrt(v / b) + 1e-8)
    return jax.tree.map(update, parameters, first, second), (first, second)


# --- training --------------------------------------------------------------------------------------------------------


def corpus():
    text = open(__file__, encoding="utf-8").read()
    letters = sorted(set(text))
    return np.array([letters.index(c) for c in text], np.int32), len(letters)


def batches(tokens, options):
    """The same for every process: each takes its own part."""
    random = np.random.default_rng(options.seed)
    while True:
        starts = random.integers(0, len(tokens) - options.length, options.batch)
        yield np.stack([tokens[s : s + options.length + 1] for s in starts])


class Progress:
    """A bar on the terminal of process 0; a line now and then where there is no terminal."""

    def __init__(self, steps, quiet):
        self.steps, self.quiet = steps, quiet or jax.process_index() != 0

    def show(self, step, loss, tokens_per_second):
        if self.quiet:
            return
        filled = 30 * step // self.steps
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {step}/{self.steps}  loss {loss:.4f}  {tokens_per_second:,.0f} tokens/s"
        if sys.stdout.isatty():
            print("\r" + line, end="\n" if step == self.steps else "", flush=True)
        elif step == self.steps or step % max(1, self.steps // 5) == 0:
            print(line, flush=True)


def train(options, mesh):
    tokens, vocabulary = corpus()
    batch_sharding = NamedSharding(mesh, P("data"))
    replicated = NamedSharding(mesh, P())
    init = lambda key: init_parameters(key, vocabulary, options)
    key = jax.random.key(options.seed)
    shardings = jax.tree.map_with_path(
        lambda path, x: parameter_sharding(mesh, options.parallel, name_of(path), x.shape), jax.eval_shape(init, key))
    parameters = jax.jit(init, out_shardings=shardings)(key)
    zeros = jax.jit(lambda: jax.tree.map(lambda x: jnp.zeros(x.shape), jax.eval_shape(init, key)), out_shardings=shardings)
    moments = (zeros(), zeros())
    if not options.losses_only and jax.process_index() == 0:
        for title, x in [("up-projection of layer 0", parameters["layers"][0]["up"]), ("token embedding", parameters["embed"])]:
            print(f"{title} {x.shape}, {x.sharding.spec}:", flush=True)
            jax.debug.visualize_array_sharding(x, use_color=False, scale=0.6)

    def step(parameters, moments, number, batch):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, batch)
        parameters, moments = adam(parameters, gradients, moments, number, options.learning_rate)
        return parameters, moments, loss

    step = jax.jit(step, donate_argnums=(0, 1), out_shardings=(shardings, (shardings, shardings), replicated))
    losses, progress = [], Progress(options.steps, options.losses_only)
    for number, batch in zip(range(1, options.steps + 1), batches(tokens, options)):
        if number == 2:
            start = time.perf_counter()  # the first step compiles
        global_batch = jax.make_array_from_callback(batch.shape, batch_sharding, lambda index: batch[index])
        parameters, moments, loss = step(parameters, moments, jnp.float32(number), global_batch)
        losses.append(float(loss))
        done = (number - 1) * options.batch * options.length
        progress.show(number, losses[-1], done / (time.perf_counter() - start) if number > 1 else 0)
    return losses


# --- what is shown and checked ---------------------------------------------------------------------------------------


def losses_on_one_device(options):
    """The same steps in a process of its own, with one device of JAX's CPU backend and no word of this job."""
    foreign = ("JAX_", "XLA_", "SHOAL_", "OMPI_", "PMIX_", "PMI_", "SLURM_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in vars(options).items()
             if name not in ("check", "losses_only", "parallel", "plot")]
    out = subprocess.run([sys.executable, __file__, "--losses-only", "--parallel=dp", *flags],
                         env=dict(environment, JAX_PLATFORMS="cpu"), stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def check(losses, options):
    wanted = losses_on_one_device(options)
    worst = float(np.max(np.abs(np.array(losses) - np.array(wanted))))
    good = worst < TOLERANCE
    print(f"check: losses differ from one device of JAX's CPU by at most {worst:.2e}: {'good' if good else 'BAD'}")
    return good


def plot(losses, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(range(1, len(losses) + 1), losses, marker="o", markersize=3)
    axes.set(xlabel="step", ylabel="loss (nats per character)",
             title=f"{jax.process_count()} process(es), {jax.device_count()} device(s)")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    print(f"loss curve: {path}")


def main():
    options = arguments()
    mesh = make_mesh(options.parallel)
    options.batch = -(-options.batch // mesh.shape["data"]) * mesh.shape["data"]
    first = jax.process_index() == 0
    if first and not options.losses_only:
        print(f"{jax.process_count()} process(es), {jax.device_count()} {jax.devices()[0].device_kind} device(s), mesh {dict(mesh.shape)}, "
              f"{options.parallel}, batch {options.batch}")
    losses = train(options, mesh)
    if options.losses_only:
        print(json.dumps(losses))
        return
    if not first:
        return
    if options.plot:
        plot(losses, options.plot)
    if options.check and not check(losses, options):
        sys.exit(1)


if __name__ == "__main__":
    main()
