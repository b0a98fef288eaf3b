"""shoal-tune as a person uses it: it measures, and programs then choose by its table."""

import sys

from built import BUILD
from jobs import environment, finish, start

COLLECTIVES = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast"}
PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = jax.make_array_from_callback((2, 3), NamedSharding(Mesh(np.array(jax.devices()), "x"), P("x")), lambda _: np.ones((1, 3)))
print(jnp.sum(x))
"""


def run(shoalrun, *command, **flags):
    outcome = finish(start([shoalrun, "-n", "2", *map(str, command)], environment(1, **flags)), timeout=100)
    return outcome.code, outcome.output


def test_programs_choose_by_the_table(shoalrun, tmp_path):
    table = tmp_path / "table.txt"
    code, said = run(shoalrun, BUILD / "plugin/tune/shoal-tune", "-o", table, "--max-bytes", 1024)
    assert code == 0, said
    rows = [line.split() for line in table.read_text().splitlines()[1:] if not line.startswith("#")]
    assert {row[0] for row in rows} == COLLECTIVES
    assert all(row[1:3] == ["one-host", "2"] for row in rows)
    assert {row[0] for row in rows if row[3] == "-"} == COLLECTIVES

    code, said = run(shoalrun, sys.executable, "-c", PROGRAM, SHOAL_TUNING=str(table), SHOAL_LOG="2")
    assert code == 0, said
    assert "(SHOAL_TUNING, line " in said

    table.write_text("shoal-table 1\nall-reduce one-host 2 - fastest\n")
    code, said = run(shoalrun, sys.executable, "-c", PROGRAM, SHOAL_TUNING=str(table))
    assert code != 0
    assert "line 2 of the table of algorithms" in said
