"""Runs what the partitioner makes of a JAX program on jaxlib's CPU devices, part by part.

The partitioned program is one-device HLO with collectives among partitions; here each partition is a replica
of jaxlib, which gives an oracle for everything but the partitioner itself.
"""
import re
import subprocess

import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import _hlo, xla_client as xc


class Parts:
    """Which part of an array each partition holds."""

    def __init__(self, line):
        _, _, shape, local, parts = line.split(" ")
        self.shape = tuple(int(d) for d in re.search(r"\[(.*)\]", shape).group(1).split(",") if d)
        self.local = tuple(int(d) for d in re.search(r"\[(.*)\]", local).group(1).split(",") if d)
        self.offsets = [[int(o) for o in p[1:-1].split(",") if o] for p in parts.split(";")]

    def cut(self, x, p):
        """Partition p's part; past the end of the array rubbish."""
        part = np.full(self.local, 77, x.dtype) if x.dtype != bool else np.ones(self.local, bool)
        inside = tuple(slice(o, min(o + n, s)) for o, n, s in zip(self.offsets[p], self.local, self.shape))
        piece = x[inside]
        part[tuple(slice(0, n) for n in piece.shape)] = piece
        return part

    def join(self, parts):
        out, seen = np.zeros(self.shape, parts[0].dtype), np.zeros(self.shape, bool)
        for part, offsets in zip(parts, self.offsets):
            inside = tuple(slice(o, min(o + n, s)) for o, n, s in zip(offsets, self.local, self.shape))
            piece = part[tuple(slice(0, max(0, i.stop - i.start)) for i in inside)]
            if seen[inside].all() and piece.size:  # a copy: must be the same
                np.testing.assert_array_equal(out[inside], piece, err_msg="copies differ")
            out[inside], seen[inside] = piece, True
        assert seen.all(), "some elements are on no partition"
        return out


def partition(tool, lowered, partitions, choose, path):
    with open(path, "w") as f:
        f.write(mlir.module_to_string(lowered.compiler_ir("stablehlo")))
    done = subprocess.run([tool, path, str(partitions), "1" if choose else "0"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    lines = done.stdout.splitlines()
    parameters = [Parts(l[2:].replace("parameter", "x parameter", 1)) for l in lines if l.startswith("# parameter")]
    results = [Parts(l[2:].replace("result", "x result", 1)) for l in lines if l.startswith("# result")]
    return parameters, results, "\n".join(l for l in lines if not l.startswith("# "))


def as_replicas(hlo):
    """Cross-partition collectives become cross-replica ones; what XLA's text lacks is taken out."""
    hlo = hlo.replace("partition-id(", "replica-id(")
    hlo = hlo.replace("dimensions={0,0}", "dimensions={0}")  # all-to-all: XLA's text has one dimension
    hlo = re.sub(r", use_global_device_ids=\w+", "", hlo)
    hlo = re.sub(r", channel_id=\d+", "", hlo)
    hlo = re.sub(r"num_partitions=\d+", "num_partitions=1", hlo)
    return re.sub(r"(?m)^(.*?)(\S+) = (\w+)\[([\d,]*)\]\S* collective-broadcast\((.*?)\), (replica_groups=.*)$", gathered, hlo)


def gathered(broadcast):
    """What the first of each group has, for XLA's CPU, which has no collective-broadcast: all is gathered, and the first taken."""
    indent, name, element, dims, operand, groups = broadcast.groups()
    size = len(re.search(r"\{\{([\d,]*)\}", groups)[1].split(","))
    one, all_of_them = (f"{element}[{','.join([str(n), *filter(None, dims.split(','))])}]" for n in (1, size))
    first = ", ".join(["[0:1]", *(f"[0:{d}]" for d in dims.split(",") if d)])
    return "\n".join(indent.replace("ROOT ", "") * (i < 3) + indent * (i == 3) + line for i, line in enumerate([
        f"{name}.row = {one} reshape({operand})",
        f"{name}.rows = {all_of_them} all-gather({name}.row), dimensions={{0}}, {groups}",
        f"{name}.first = {one} slice({name}.rows), slice={{{first}}}",
        f"{name} = {element}[{dims}] reshape({name}.first)"]))


def execute(hlo, args, partitions):
    """args[p]: partition p's parts. Returns for each result the parts of all partitions."""
    proto = _hlo.hlo_module_from_text(as_replicas(hlo)).as_serialized_hlo_module_proto()
    options = xc.CompileOptions()
    options.num_replicas = partitions
    devices = jax.devices("cpu")[:partitions]
    options.device_assignment = xc.DeviceAssignment.create(np.arange(partitions).reshape(partitions, 1))
    module = xc._xla.mlir.hlo_to_stablehlo(proto)
    executable = devices[0].client.compile_and_load(module, xc._xla.DeviceList(tuple(devices)), options)
    mesh = jax.sharding.Mesh(np.array(devices), ("p",))

    def global_of(parts):  # jaxlib wants one array over all devices: parts stacked on a new first dimension
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        return jax.make_array_from_single_device_arrays(
            parts[0].shape, sharding, [jax.device_put(x, d) for x, d in zip(parts, devices)])

    outs = executable.execute_sharded([global_of(parts) for parts in zip(*args)])
    return [[np.asarray(x) for x in parts] for parts in outs.disassemble_into_single_device_arrays()]


def check(tool, jitted, args, partitions, path, choose=True, rtol=1e-5, atol=1e-5, plain=None, platform="cpu"):
    """Partitioned by Shoal and run by jaxlib, `jitted(*args)` equals what one device computes.

    `plain` is the same function without shardings, if jaxlib's own partitioner is not to be trusted; `platform` the one
    that JAX lowers it for.
    """
    lowered = jitted.trace(*args).lower(lowering_platforms=(platform,))
    want = [np.asarray(x) for x in jax.tree.leaves((plain or jitted)(*args))]
    parameters, results, hlo = partition(tool, lowered, partitions, choose, path)
    leaves = [np.asarray(x) for x in jax.tree.leaves(args)]
    kept = lowered._lowering.compile_args["kept_var_idx"]  # jit drops arguments that are not used
    leaves = [x for i, x in enumerate(leaves) if i in kept]
    assert len(parameters) == len(leaves), (len(parameters), len(leaves))
    parts = [[s.cut(x, p) for s, x in zip(parameters, leaves)] for p in range(partitions)]
    outs = execute(hlo, parts, partitions)
    for i, (spec, expected) in enumerate(zip(results, want)):
        got = spec.join([np.asarray(o) for o in outs[i]])
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=f"result {i}")
    return hlo
