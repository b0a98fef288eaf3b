"""What all Python tests share: where things are, and JAX's own CPU backend with eight devices as the oracle."""

import os
import pathlib
import shutil
import sys

import pytest
from built import BUILD, ROOT

# One process runs many test files, and JAX reads these once. Tests of the plugin start processes of their own.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shoalrun():
    """The installed command, or the one of the build directory."""
    places = [pathlib.Path(sys.executable).parent, BUILD / "launcher/bin"]
    found = shutil.which("shoalrun", path=":".join(map(str, places)))
    assert found, f"no shoalrun in {places}: run scripts/test.sh"
    return found
