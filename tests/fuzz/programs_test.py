"""Random programs (random_program.py) give the same with Shoal as with jaxlib's CPU; a failure names the seed to look at."""

import against_jaxlib
import pytest

EACH = 50  # programs of one worker process
# What the tool once took for faults: a tanh next to 1 that is made an integer, the sign of a NaN, a power of what is subnormal.
NO_FAULTS = (7599, 17329, 18396)


@pytest.mark.parametrize("first, count", [(first, EACH) for first in range(0, 500, EACH)] + [(seed, 1) for seed in NO_FAULTS])
def test_programs(first, count):
    bad = []
    for told in against_jaxlib.run(first, count):
        if told["verdict"] not in ("same", *against_jaxlib.JAXLIBS):
            bad.append(f"tests/fuzz/against_jaxlib.py --show {told['seed']}: {told['verdict']}\n{told['detail']}")
    assert not bad, "\n".join(bad)
