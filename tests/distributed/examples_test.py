"""The examples, on several processes and devices: each compares itself with JAX's CPU backend or NumPy."""

import subprocess
import sys

import pytest
from jobs import environment, finish, mpirun, start

LAYOUTS = [(1, 1), (1, 4), (4, 1), (2, 2)]


def example(root, name, *arguments):
    return [sys.executable, str(root / "examples" / name), *arguments]


def run(processes, devices, argv):
    outcome = mpirun(processes, devices, argv) if processes > 1 else finish(start(argv, environment(devices)), 600)
    assert outcome.code == 0, outcome.output[-6000:]
    assert "check: " in outcome.output and ": good" in outcome.output, outcome.output
    return outcome


@pytest.mark.parametrize("parallel", ["2d", "dp", "tp", "fsdp"])
@pytest.mark.parametrize("processes,devices", LAYOUTS)
def test_transformer(root, processes, devices, parallel):
    run(processes, devices, example(root, "01_transformer_training.py", "--check", "--plot=", "--steps=8", f"--parallel={parallel}"))


@pytest.mark.parametrize("processes,devices", LAYOUTS + [(3, 2)])
def test_heat(root, processes, devices):
    run(processes, devices, example(root, "02_heat_equation.py", "--plot=", "--rows=95", "--columns=127", "--steps=60"))


def test_pictures(root, tmp_path):
    for name, flags in [("01_transformer_training.py", ["--steps=2"]), ("02_heat_equation.py", ["--steps=10"])]:
        picture = tmp_path / f"{name}.png"
        run_one = subprocess.run(example(root, name, f"--plot={picture}", *flags), env=environment(2), timeout=600)
        assert run_one.returncode == 0
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["01_transformer_training.py", "02_heat_equation.py"])
def test_help(root, name):
    out = subprocess.run(example(root, name, "--help"), env=environment(1), capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and "mpirun" in out.stdout
