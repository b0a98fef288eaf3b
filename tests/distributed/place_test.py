"""Each way to start several processes gives JAX the right numbers."""

import pytest
from jobs import command, environment, finish, jax_distributed, mpirun, shoalrun as run_shoalrun, start


def check(outcome, processes, devices):
    n = processes * devices
    for process, told in enumerate(outcome.all(processes)):
        assert told == {
            "count": processes,
            "devices": list(range(n)),
            "owners": [d // devices for d in range(n)],
            "local": list(range(process * devices, (process + 1) * devices)),
            "platform": "cpu",
        }


@pytest.mark.parametrize("processes,devices", [(1, 3), (2, 2), (3, 1)])
def test_mpirun(processes, devices):
    check(mpirun(processes, devices, command("place.py")), processes, devices)


def test_shoalrun(shoalrun):
    check(run_shoalrun(shoalrun, 3, 2, command("place.py")), 3, 2)


def check_quiet(outcome, processes, devices):
    """jaxlib's watch of the coordinator went on after JAX had stopped that, for seconds and with warnings at exit."""
    check(outcome, processes, devices)
    assert "WatchTasks" not in outcome.output, outcome.output[-3000:]


def test_jax_distributed():
    check_quiet(jax_distributed(3, 2, command("place.py")), 3, 2)


def test_jax_distributed_under_mpirun():
    check_quiet(mpirun(3, 2, command("place.py"), TEST_DISTRIBUTED=1), 3, 2)


def test_jax_distributed_under_shoalrun(shoalrun):
    check_quiet(run_shoalrun(shoalrun, 3, 2, command("place.py"), TEST_DISTRIBUTED=1), 3, 2)


def test_forked_child_ends_in_order():
    """Its job is its parent's, and the threads that end it are not in the child: a segmentation fault where it tries."""
    for told in mpirun(2, 1, command("forked_child.py")).all(2):
        assert told == {"child": 0, "before": 12, "after": 12}


def test_single_process_starts_no_mpi():
    outcome = finish(start(command("footprint.py"), environment(2)), 300)
    assert outcome.all(1)[0] == {"libraries": [], "sockets": 0}


def test_one_host_starts_no_mpi():
    for told in mpirun(2, 1, command("footprint.py")).all(2):
        assert told["libraries"] == []
