"""mpi4py works in the same program, whichever of the two starts MPI first."""

import pytest
from jobs import command, mpirun


@pytest.mark.parametrize("shm", [1, 0])
@pytest.mark.parametrize("order", ["before", "after"])
def test_mpi4py(order, shm):
    for process, told in enumerate(mpirun(3, 2, command("mpi_too.py", order), SHOAL_SHM=shm).all(3)):
        assert told == {"jax": 15, "again": 15, "mpi": 3, "rank": process}
