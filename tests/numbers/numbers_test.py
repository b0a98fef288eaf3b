"""Values that users compare with NumPy's: each program of programs/ runs in one process of Shoal, and checks itself."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program(program):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "JAX_", "OMPI_", "XLA_"))}
    env.update({"JAX_PLATFORMS": "shoal", "SHOAL_NUM_DEVICES": "2"})
    done = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
