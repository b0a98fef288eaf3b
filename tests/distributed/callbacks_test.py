"""Host callbacks of programs that several processes run together."""

from jobs import command, mpirun


def test_callbacks():
    for process, told in enumerate(mpirun(2, 2, command("callbacks.py")).all(2)):
        assert told == {
            "whole": [-0.0, -1.0, -2.0, -3.0],
            "once": [[0.0, 1.0, 2.0, 3.0]] if process == 0 else [],  # by device 0 alone
            "shards": [[2.0 * process], [2.0 * process + 1]],
            "error": True,
            "blamed": ["process 0"] if process == 1 else [],
            "after": 6.0,
        }
