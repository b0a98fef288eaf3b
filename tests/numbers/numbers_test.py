"""Values that users compare with NumPy's: each program of programs/ runs in one process of Shoal, and checks itself."""

import pathlib
import subprocess
import sys

import pytest
from jobs import environment

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program(program):
    done = subprocess.run([sys.executable, program], env=environment(2), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
