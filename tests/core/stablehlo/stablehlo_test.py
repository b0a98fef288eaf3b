"""Programs as JAX lowers them: every form of the same program gives the same HLO, and XLA computes from that HLO what
JAX computes from the program.

The oracle is jaxlib: its serialiser writes the bytecode, its printer the text, and its CPU compiler runs both JAX's
program and the HLO that shoal_import prints.
"""
import random
import re
import subprocess

import numpy as np
import pytest

import make_corpus  # sets JAX up for eight CPU devices
from built import BUILD

import jax
from jaxlib import _hlo, _jax, xla_client

TOOL = BUILD / "tests/core/stablehlo/shoal_import"
# Not what one device can run: sharded programs, callbacks, custom calls with layouts, what XLA's converter lacks.
ONLY_IMPORTED = {"callbacks", "linalg", "special"}
# The oldest of each bytecode version, those where encodings of operations changed, and the newest.
VERSIONS = ["0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "1.1.0", "1.5.0", "1.9.0", "1.10.0", "1.14.0", "1.20.0"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpus")
    for name in make_corpus.PROGRAMS:
        make_corpus.write(str(directory), name)
    return directory


@pytest.fixture(autouse=True)
def wide_types():
    with jax.enable_x64(True):
        yield


def run(*paths):
    return subprocess.run([TOOL, *map(str, paths)], capture_output=True, text=True, errors="replace", timeout=120)


def hlo(path):
    done = run(path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbered(text):
    """The text with every name replaced by its number in order of appearance: names may differ between forms."""
    numbers = {}
    return re.sub(r"%[\w.-]+|(?<=[(, ])[\w.-]+(?=: )",
                  lambda m: numbers.setdefault(m[0].lstrip("%"), f"n{len(numbers)}"), text)


@pytest.mark.parametrize("name", make_corpus.PROGRAMS)
def test_bytecode_and_text_give_the_same(corpus, name):
    bytecode = hlo(corpus / f"{name}.mlirbc")
    assert hlo(corpus / f"{name}.generic.mlir") == bytecode
    assert numbered(hlo(corpus / f"{name}.mlir")) == numbered(bytecode)


def make_input(shape, rng):
    *dims, dtype = shape
    dtype = np.dtype(jax.numpy.dtype(dtype))
    values = rng.uniform(0, 4, dims)
    if dtype.kind == "b":
        return np.asarray(values > 2)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(0, 4, dims)
    return np.asarray(values).astype(dtype)


def runs_on_one_device(name):
    function, _, jit = make_corpus.PROGRAMS[name]
    return "shard" not in name and "in_shardings" not in jit and name not in ONLY_IMPORTED


@pytest.mark.parametrize("name", list(filter(runs_on_one_device, make_corpus.PROGRAMS)))
def test_xla_computes_the_same_from_the_hlo(corpus, name):
    function, shapes, _ = make_corpus.PROGRAMS[name]
    rng = np.random.default_rng(len(name))
    inputs = [make_input(shape, rng) for shape in shapes]
    expected = jax.tree.leaves(jax.jit(function)(*inputs))

    module = _hlo.hlo_module_from_text(hlo(corpus / f"{name}.mlirbc"))
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    device = jax.devices()[0]
    executable = device.client.compile_and_load(stablehlo, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    results = executable.execute([jax.device_put(x) for x in inputs])

    assert len(results) == len(expected)
    for result, want in zip(results, expected):
        result, want = np.asarray(result), np.asarray(want)
        assert (result.dtype, result.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(result, want)
        else:
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(result.astype(wide), want.astype(wide), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_of_stablehlo(tmp_path, version):
    """What an older StableHLO can say at all is read from its bytecode."""
    mixed = tuple(map(int, version.split("."))) >= (1, 11, 0)  # before that, sdy does not stay in the module
    written, refused = [], []
    for name in make_corpus.PROGRAMS:
        module = make_corpus.lower(name).compiler_ir("stablehlo")
        path = tmp_path / f"{name}.mlirbc"
        try:
            path.write_bytes(_jax.mlir.serialize_portable_artifact(module, version, mixed))
            written.append(path)
        except Exception:  # newer element types and operations
            refused.append(name)
    assert len(refused) <= 4, refused
    done = run(*written)
    assert done.returncode == 0, done.stderr


def mutate(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] = (data[at] + rng.choice((-2, -1, 1, 2))) % 256
        elif kind == 2:
            del data[at:at + rng.randint(1, 16)]
        else:
            data[at:at] = data[rng.randrange(len(data)):][: rng.randint(1, 16)]
    return bytes(data)


def test_altered_programs_fail_with_a_message(corpus, tmp_path):
    """Whatever is wrong with the bytes, the importer says so: it neither crashes nor hangs."""
    rng = random.Random(7)
    for source in sorted(corpus.glob("*.ml*")):
        data = source.read_bytes()
        paths = []
        for i in range(12):
            paths.append(tmp_path / f"{source.name}.{i}")
            paths[-1].write_bytes(mutate(data, rng))
        done = run(*paths)
        assert done.returncode in (0, 1), (source, done.returncode, done.stderr[-2000:])
        for path in paths:
            path.unlink()
