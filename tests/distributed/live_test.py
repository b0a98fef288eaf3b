"""Whoever is alive goes on without a process that has died, where the program is made for that (live_devices)."""

from jobs import command, jax_distributed


def test_live_devices():
    outcome = jax_distributed(3, 2, command("live.py"), timeout=120)
    wanted = {"before": 6, "failed": [4, 5], "live": [0, 1, 2, 3], "after": 4}
    assert outcome.told == {0: wanted, 1: wanted}, outcome.output[-6000:]
