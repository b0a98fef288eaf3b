"""Joining and watching across hosts: network namespaces that share one kernel, one file system and one /dev/shm."""

import re
import time

import pytest
from built import BUILD
from hosts import Hosts, can_make_hosts
from jobs import environment, finish, mpirun, start

pytestmark = pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")

PROBE = str(BUILD / "tests/launcher/rendezvous/job_probe")


def test_mpirun_on_two_hosts():
    with Hosts(2) as hosts:
        for told in hosts.mpirun(2, 1, [PROBE, "1"]).all(4):
            assert told == {"hosts": [0, 0, 1, 1], "death": ""}


def test_mpirun_on_one_host():
    for told in mpirun(3, 1, [PROBE, "1"]).all(3):
        assert told == {"hosts": [0, 0, 0], "death": ""}


def start_by_hand(hosts, *arguments):
    """One process on each host, by SHOAL_COORDINATOR alone."""
    return [start(hosts.on(host, [PROBE, *arguments]),
                  environment(1, SHOAL_NUM_PROCESSES=hosts.count, SHOAL_PROCESS_ID=host - 1, SHOAL_COORDINATOR="10.77.0.1:7001"))
            for host in range(1, hosts.count + 1)]


@pytest.mark.parametrize("victim", [0, 2])
def test_death_on_another_host(victim):
    with Hosts(3) as hosts:
        outcomes = [finish(p, 60) for p in start_by_hand(hosts, "20", str(victim))]
    for process, outcome in enumerate(outcomes):
        if process != victim:
            told = outcome.told[process]
            assert told["hosts"] == [0, 1, 2]
            assert re.search(rf"process {victim} \(\S+, pid \d+\) died, or its host cannot be reached", told["death"])


def test_cut_link_is_noticed_on_both_sides():
    with Hosts(2) as hosts:
        processes = start_by_hand(hosts, "30")
        assert [p.stdout.readline() for p in processes] == ["READY\n", "READY\n"]
        cut = time.time()
        hosts.cut(2)
        outcomes = [finish(p, 60) for p in processes]
        assert time.time() - cut < 25
    assert "process 1" in outcomes[0].told[0]["death"]
    assert "process 0" in outcomes[1].told[1]["death"]
