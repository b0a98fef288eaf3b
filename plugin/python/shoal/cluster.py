"""`jax.distributed.initialize()` without arguments, under launchers that JAX does not know itself.

JAX asks every subclass of its ClusterEnv that it has seen. `import shoal`, before the call, shows it this one, for jobs
started by shoalrun or by SHOAL_ variables, by Open MPI 5, and by MPICH's or Intel's mpiexec. Only programs that want
`jax.distributed` need it (Orbax does, where processes are several): Shoal itself asks the launcher.
"""

import os
import socket
import struct
import zlib

from jax._src import clusters

# Where Linux does not choose ports by itself.
_PORTS = range(20_000, 32_000)

# Names of: the number of processes, this one, how many are on this host; what tells jobs of one host apart; what is set
# where JAX knows the launcher itself (Open MPI 4; Slurm, also with PMI).
_LAUNCHERS = [
    ("SHOAL_NUM_PROCESSES", "SHOAL_PROCESS_ID", None, ("SHOAL_JOB", "SHOAL_NUM_PROCESSES"), ""),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", ("PMIX_NAMESPACE",), "OMPI_MCA_orte_hnp_uri"),
    ("PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", ("PMI_JOBID",), "SLURM_STEP_ID"),
]


def _launcher():
    return next((names for names in _LAUNCHERS if names[0] in os.environ and names[-1] not in os.environ), None)


def _maker_of_pmi_socket() -> str:
    """The process that serves PMI on this host: MPICH names no job (launcher/cluster/pmi.cc)."""
    try:
        with socket.socket(fileno=os.dup(int(os.environ["PMI_FD"]))) as pmi:
            return str(struct.unpack("3i", pmi.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
    except (KeyError, ValueError, OSError):
        return ""


class ShoalCluster(clusters.ClusterEnv):
    name = "shoal"

    @classmethod
    def is_env_present(cls) -> bool:
        return _launcher() is not None

    @classmethod
    def get_coordinator_address(cls, timeout_secs, override_coordinator_port) -> str:
        """Beside SHOAL_COORDINATOR's port, else one of this host's that the job's name gives."""
        size, _, local_size, job, _ = _launcher()
        host, _, port = os.environ.get("SHOAL_COORDINATOR", "").rpartition(":")
        if not host:
            if local_size and os.environ.get(local_size) != os.environ[size]:
                raise RuntimeError("the launcher does not tell on which host process 0 is: set SHOAL_COORDINATOR=HOST:PORT, or give "
                                   "jax.distributed.initialize its arguments")
            text = "".join(os.environ.get(name, "") for name in job) + _maker_of_pmi_socket()
            host, port = "localhost", _PORTS[zlib.crc32(text.encode()) % len(_PORTS)] - 1
        return f"{host}:{override_coordinator_port or int(port) + 1}"

    @classmethod
    def get_process_count(cls) -> int:
        return int(os.environ[_launcher()[0]])

    @classmethod
    def get_process_id(cls) -> int:
        return int(os.environ[_launcher()[1]])


# Before JAX's own: shoalrun may run inside an allocation of Slurm's.
clusters.ClusterEnv._cluster_types.remove(ShoalCluster)
clusters.ClusterEnv._cluster_types.insert(0, ShoalCluster)
