"""Collectives between real processes, against NumPy: over shared memory, over MPI, and between hosts."""

import os

import pytest
from bits import differences, digests
from hosts import Hosts, can_make_hosts
from jobs import command, environment, finish_all, jax_distributed, mpirun, start


def check(outcome, processes):
    for told in outcome.all(processes):
        assert len(told) == 35
        # Small whole numbers: exact in every type.
        assert not {name: error for name, error in told.items() if error != 0}


@pytest.mark.parametrize("processes,devices", [(2, 2), (3, 1), (4, 1), (1, 4)])
@pytest.mark.parametrize("shm", [1, 0])
def test_one_host(processes, devices, shm):
    check(mpirun(processes, devices, command("collectives.py"), SHOAL_SHM=shm), processes)


@pytest.mark.parametrize("processes,devices", [(1, 4), (2, 2)])
def test_every_type(processes, devices):
    for told in mpirun(processes, devices, command("every_type.py")).all(processes):
        assert told["count"] == 383 and not told["wrong"]


@pytest.mark.parametrize("processes,devices", [(1, 4), (3, 2)])
def test_any_reducer(processes, devices):
    for told in mpirun(processes, devices, command("any_reducer.py")).all(processes):
        assert told["count"] == 56 * devices and not told["wrong"]


def test_jax_distributed():
    check(jax_distributed(3, 1, command("collectives.py")), 3)


@pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")
def test_two_hosts():
    with Hosts(2) as hosts:
        check(hosts.mpirun(2, 1, command("collectives.py")), 4)
        for told in hosts.mpirun(2, 2, command("every_type.py")).all(4):
            assert not told["wrong"]


@pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")
def test_two_hosts_by_ucx():
    job = {"SHOAL_NUM_PROCESSES": 4, "SHOAL_COORDINATOR": "10.77.0.1:7177", "SHOAL_JOB": "two_hosts_by_ucx"}
    with Hosts(2) as hosts:
        # UCX would see that the hosts of this test are one machine.
        started = [start(hosts.on(1 + p // 2, command("collectives.py")),
                         environment(1, SHOAL_PROCESS_ID=p, UCX_TLS="tcp,self", **job)) for p in range(4)]
        check(finish_all(started, 300), 4)


@pytest.mark.skipif(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 16 << 30, reason="needs 16 GiB of free memory")
def test_arrays_whose_sizes_have_no_32_bits():
    for told in mpirun(2, 1, command("huge.py", 4.25, "psum", "reduce_scatter")).all(2):
        assert told["psum"]["rows"] == 2 * told["reduce_scatter"]["rows"] > 2**20
        assert told["psum"]["wrong"] == told["reduce_scatter"]["wrong"] == 0


def test_same_bits_whoever_hosts_the_devices():
    first = digests((1, 8), threads=1)
    assert len(first) == 8 * 12
    # Each transport and number of threads once; bits.py does all of them.
    for layout, transport, threads in [((2, 4), "ucx", 2), ((4, 2), "mpi", 4), ((8, 1), "shm", 2)]:
        assert not differences(first, digests(layout, transport, threads))


def test_repetition_has_the_same_bits():
    once, again = (digests((2, 4), deterministic=0) for _ in range(2))
    assert not differences(once, again)


@pytest.mark.parametrize("settings", [{}, {"SHOAL_SHM": 0}, {"SHOAL_SHM": 0, "SHOAL_TRANSPORT": "ucx"}], ids=["shm", "mpi", "ucx"])
@pytest.mark.parametrize("processes,devices", [(3, 1), (2, 2)])
def test_memory_that_peers_read_after_the_result_is_there(processes, devices, settings):
    outcome = mpirun(processes, devices, command("reads_on.py", 1, 60), **settings).all(processes)
    assert all(told["count"] == 60 and told["wrong"] == 0 for told in outcome)
    assert outcome[0]["early"] > 2


def test_many_groups():
    for told in mpirun(2, 3, command("many_groups.py")).all(2):
        assert told["wrong"] == 0
        assert told["longest"] < 5  # compilation included


@pytest.mark.parametrize("shm", [1, 0])
def test_random_collectives_of_two_threads(shm):
    for told in mpirun(2, 4, command("random_collectives.py", 5, 3, 2), SHOAL_SHM=shm).all(2):
        assert not told["error"]
        assert told["run"] > 40
