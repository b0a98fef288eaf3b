"""Random programs (random_program.py) give the same with Shoal as with jaxlib's CPU; a failure names the seed to look at."""

import differential
import pytest

EACH = 50  # programs of one worker process


@pytest.mark.parametrize("first", range(0, 500, EACH))
def test_programs(first):
    bad = [told for told in differential.run(first, EACH) if told["verdict"] not in ("same", "refused by jaxlib")]
    assert not bad, "\n".join(f"python tests/fuzz/differential.py --show {told['seed']}\n{told['verdict']}: {told['detail']}" for told in bad)
