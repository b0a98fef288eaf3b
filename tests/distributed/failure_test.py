"""What goes wrong in a job is said by every process, within seconds."""

import re

import pytest
from jobs import command, environment, finish, free_port, mpirun, shoalrun as run_shoalrun, start


def check_death(outcome, survivors):
    assert sorted(outcome.told) == survivors, outcome.output[-6000:]
    for told in outcome.told.values():
        assert re.search(r"UNAVAILABLE: process 1 \(.*pid \d+.*\) (died|has ended)", told["error"]), told["error"]
        assert "all-reduce f32[1000]" in told["error"]
        assert told["seconds"] < 5
        assert told["local"] == 42


def test_dead_process_is_named(shoalrun):
    check_death(run_shoalrun(shoalrun, 3, 1, command("one_dies.py")), [0, 2])


def test_dead_process_is_named_without_shared_memory():
    # mpirun would end the others at once.
    check_death(mpirun(3, 1, ["--enable-recovery", *command("one_dies.py")], SHOAL_SHM=0), [0, 2])


def test_missing_process_is_named():
    env = environment(1, SHOAL_NUM_PROCESSES=2, SHOAL_PROCESS_ID=0, SHOAL_JOB="missing", SHOAL_TIMEOUT_S=3)
    outcome = finish(start(command("place.py"), env), 120)
    assert outcome.code != 0
    assert "process 1 of 2 did not join the job within 3s" in outcome.output


@pytest.mark.parametrize("how,place", [("swapped", r"process [01] of 2"), ("alone", "process 0 of 1")])
def test_mpirun_and_program_disagree(how, place):
    for rank, told in enumerate(mpirun(2, 1, command("disagree.py", how, free_port())).all(2)):
        assert re.search(rf"jax\.distributed.* {place}.*Open MPI says that this is process {rank} of 2", told), told


def test_wrong_value_is_named():
    outcome = finish(start(command("place.py"), environment("many")), 120)
    assert outcome.code != 0
    assert 'SHOAL_NUM_DEVICES="many"' in outcome.output
