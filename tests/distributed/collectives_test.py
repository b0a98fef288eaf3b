"""Collectives between real processes, against NumPy: over shared memory, over MPI, and between hosts."""

import pytest
from hosts import Hosts, can_make_hosts
from jobs import command, jax_distributed, mpirun


def check(outcome, processes):
    for told in outcome.all(processes):
        assert len(told) == 30
        # Small whole numbers: exact in every type.
        assert not {name: error for name, error in told.items() if error != 0}


@pytest.mark.parametrize("processes,devices", [(2, 2), (3, 1), (4, 1), (1, 4)])
@pytest.mark.parametrize("shm", [1, 0])
def test_one_host(processes, devices, shm):
    check(mpirun(processes, devices, command("collectives.py"), SHOAL_SHM=shm), processes)


def test_jax_distributed():
    check(jax_distributed(3, 1, command("collectives.py")), 3)


@pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")
def test_two_hosts():
    with Hosts(2) as hosts:
        check(hosts.mpirun(2, 1, command("collectives.py")), 4)
