"""What all Python tests share: where things are."""

import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shoalrun():
    """The installed command, or the one of the build directory."""
    places = [pathlib.Path(sys.executable).parent, ROOT / "build/release/launcher/bin"]
    found = shutil.which("shoalrun", path=":".join(map(str, places)))
    assert found, f"no shoalrun in {places}: run scripts/test.sh"
    return found
