"""Random programs (random_program.py) give the same with Shoal as with jaxlib's CPU; a failure names the seed to look at."""

import against_jaxlib
import pytest

EACH = 50  # programs of one worker process


@pytest.mark.parametrize("first", range(0, 500, EACH))
def test_programs(first):
    bad = []
    for told in against_jaxlib.run(first, EACH):
        if told["verdict"] not in ("same", *against_jaxlib.JAXLIBS):
            bad.append(f"tests/fuzz/against_jaxlib.py --show {told['seed']}: {told['verdict']}\n{told['detail']}")
    assert not bad, "\n".join(bad)
