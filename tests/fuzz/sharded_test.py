"""Random programs on random meshes with random shardings equal the same programs on one device of jaxlib's.

500 of them; `sharded_run.py` runs others, and prints the smallest program that fails as one of these does. SHOAL_FUZZ_FIRST
and SHOAL_FUZZ_COUNT say which.
"""

import os

import pytest
import sharded_run

FIRST = int(os.environ.get("SHOAL_FUZZ_FIRST", "0"))
COUNT = int(os.environ.get("SHOAL_FUZZ_COUNT", "500"))
CHUNK = 125


@pytest.fixture(scope="module", autouse=True)
def installed():
    shoal = pytest.importorskip("shoal")
    if not shoal.LIBRARY.exists():
        pytest.skip("the plugin is not installed")


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_sharded_programs_equal_those_of_one_device(first):
    verdicts = sharded_run.run(first, min(CHUNK, FIRST + COUNT - first))
    wrong = {seed: verdict for seed, verdict in verdicts.items() if verdict and not verdict.startswith("oracle")}
    assert not wrong, "\n".join(f"sharded_run.py --shrink {seed}: {verdict}" for seed, verdict in wrong.items())
    refused = sum(verdict is not None for verdict in verdicts.values())
    assert refused < len(verdicts) / 20, "jaxlib refuses too many of them: the generator is broken"
