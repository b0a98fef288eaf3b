"""Arrays that leave their process by other ways than a program's collectives."""

import pytest
from bits import TRANSPORTS
from jobs import command, jax_distributed, mpirun


# Of a process: three arrays that come by on their way, and what multihost_utils gives; the last process has one more.
EVERYWHERE = 3 + 7


@pytest.mark.parametrize("processes,devices", [(2, 3), (3, 1), (4, 2)])
def test_mpirun(processes, devices):
    told = mpirun(processes, devices, command("exchange.py")).all(processes)
    assert told == [EVERYWHERE] * (processes - 1) + [EVERYWHERE + 1 + (devices >= processes)]


def test_sender_that_ends_at_once():
    assert mpirun(2, 1, command("sends_and_ends.py")).all(2) == [0, 2.0**24 - 1]


def test_sender_that_ends_before_a_stopped_receiver_goes_on():
    assert mpirun(2, 1, command("sends_to_the_stopped.py")).all(2) == [[0.0], [500.0]]


def test_process_that_is_thousands_of_runs_ahead():
    assert mpirun(3, 1, command("far_ahead.py")).all(3) == [3.0] * 3


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_memory_for_what_a_busy_receiver_has_not_taken_is_bounded(transport):
    told = mpirun(2, 1, command("runs_ahead.py"), **TRANSPORTS[transport]).all(2)
    assert [t["all"] for t in told] == [0, 2000]
    assert all(t["grown"] < 150 for t in told), told  # MiB; 320 MB are sent


def test_receiver_that_is_slower_than_the_timeout_but_goes_on():
    told = mpirun(3, 1, command("takes_slowly.py"), SHOAL_TIMEOUT_S=3).all(3)
    assert [t["all"] for t in told] == [[0, 0], [0, 50], [50, 0]]
    assert told[1]["took"] > 6


def test_jax_distributed():
    assert jax_distributed(2, 1, command("exchange.py")).all(2) == [EVERYWHERE, EVERYWHERE + 1]
