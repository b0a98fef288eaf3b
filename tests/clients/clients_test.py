"""Programs of libraries that people use with JAX, each on one process of four devices and on two of two.

Each compares itself with what the library's authors did not write: closed forms, NumPy, SciPy, conservation laws.
"""

import ast
import importlib.util
import pathlib
import sys

import pytest
from jobs import environment, finish, mpirun, start

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
# Those whose libraries requirements.txt has: continuous integration runs them. The others' are in more.txt (scripts/clients.sh).
ALWAYS = (
    "equinox_training",
    "flax_nnx_transformer",
    "lineax_optimistix",
    "numpyro_regression",
    "optax_optimizers",
    "orbax_checkpoint",
    "shallow_water",
)
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "client")


def missing(program):
    """The libraries that the program imports and that are not installed."""
    imported = set()
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    return sorted(
        {name.split(".")[0] for name in imported if not importlib.util.find_spec(name.split(".")[0])}
        - {"client"}
    )


@pytest.mark.parametrize("processes,devices", [(1, 4), (2, 2)])
@pytest.mark.parametrize("name", NAMES)
def test_client(name, processes, devices):
    program = PROGRAMS / f"{name}.py"
    if name not in ALWAYS and missing(program):
        pytest.skip(f"not installed: {', '.join(missing(program))}")
    argv = [sys.executable, str(program)]
    outcome = (
        mpirun(processes, devices, argv) if processes > 1 else finish(start(argv, environment(devices)), 600)
    )
    for told in outcome.all(processes):
        assert told["devices"] == processes * devices and told["off"] == [], told
