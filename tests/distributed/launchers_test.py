"""Open MPI 5 and MPICH (PyPI's packages, scripts/setup.sh), where the plugin's MPI module is built against Debian's Open MPI 4."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest
from built import ROOT
from hosts import Hosts, can_make_hosts
from jobs import command, environment, finish, start

OPTIONS = {"openmpi": ["--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.getuid() == 0 else [])],
           "mpich": ["-bind-to", "none"]}
both = pytest.mark.parametrize("mpi", OPTIONS)


def begin(mpi, processes, devices, argv, **extra):
    directory = ROOT / "build/mpi" / mpi
    if not directory.exists():
        pytest.skip(f"{directory} is not there: scripts/test.sh installs it")
    return start([str(directory / "bin/mpiexec"), *OPTIONS[mpi], "-n", str(processes), *argv], environment(devices, **extra))


@both
def test_places(mpi):
    for process, told in enumerate(finish(begin(mpi, 3, 2, command("place.py")), 300).all(3)):
        assert told["count"] == 3 and told["devices"] == list(range(6))
        assert told["local"] == [2 * process, 2 * process + 1]


@both
def test_jax_distributed(mpi):
    told = finish(begin(mpi, 2, 1, command("place.py"), TEST_DISTRIBUTED=1), 300).all(2)
    assert [t["local"] for t in told] == [[0], [1]]


@both
def test_collectives_over_the_network(mpi):
    for told in finish(begin(mpi, 3, 1, command("collectives.py"), SHOAL_SHM=0), 300).all(3):
        assert told and not {name: error for name, error in told.items() if error != 0}


@both
def test_two_jobs_at_one_time(mpi):
    jobs = [begin(mpi, 2, 1, command("place.py")) for _ in range(2)]
    for job in jobs:
        assert [told["local"] for told in finish(job, 300).all(2)] == [[0], [1]]


def hosts_line(hosts, mpi, argv, env):
    """Two processes on each of two hosts."""
    mpiexec = [str(ROOT / "build/mpi" / mpi / "bin/mpiexec"), *OPTIONS[mpi]]
    if mpi == "mpich":
        options = ["-launcher", "ssh", "-launcher-exec", hosts.agent, "-hosts", "10.77.0.1:2,10.77.0.2:2", "-iface", "eth0"]
    else:
        options = ["--prtemca", "plm_ssh_agent", hosts.agent, "--prtemca", "prte_keep_fqdn_hostnames", "1",
                   "--prtemca", "oob_tcp_if_include", "10.77.0.0/24", "--mca", "btl_tcp_if_include", "10.77.0.0/24",
                   "-H", "10.77.0.1:2,10.77.0.2:2",
                   *[f for name in env if name.startswith(("SHOAL_", "JAX_")) for f in ("-x", name)]]
    return hosts.on(1, [*mpiexec, *map(str, options), "-n", "4", *argv])


@both
@pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")
def test_two_hosts(mpi):
    if not (ROOT / "build/mpi" / mpi).exists():
        pytest.skip("scripts/test.sh installs it")
    # To MPICH it is UCX, which would see that the hosts of this test are one machine.
    extra = {"UCX_TLS": "tcp,self"} if mpi == "mpich" else {}
    env = environment(1, **extra)
    with Hosts(2) as hosts:
        for _ in range(2):
            outcome = finish(start(hosts_line(hosts, mpi, command("collectives.py"), env), env), 300)
            # MPICH's launcher fails this assertion of its own now and then, once all processes have told their values.
            if "HYD_pmcd_pmip_control_cmd_cb" not in outcome.output:
                break
    for told in outcome.all(4):
        assert told and not {name: error for name, error in told.items() if error != 0}


def test_an_mpi_that_cannot_be_used_says_so():
    outcome = finish(begin("mpich", 2, 1, command("collectives.py"), SHOAL_SHM=0, SHOAL_TRANSPORT="mpi"), 300)
    assert outcome.code != 0
    assert re.search(r"libshoal_mpi\.so is built for Open MPI, this job was started by a launcher for MPICH", outcome.output)


@pytest.fixture(scope="module")
def built_for_mpich(tmp_path_factory):
    """The installed package with an MPI module that MPICH's compiler has made, as on a machine whose mpicc that is."""
    mpich = ROOT / "build/mpi/mpich"
    if not mpich.exists():
        pytest.skip(f"{mpich} is not there: scripts/test.sh installs it")
    top = tmp_path_factory.mktemp("for_mpich")
    (top / "shoal").mkdir()
    for file in pathlib.Path(importlib.util.find_spec("shoal").origin).parent.iterdir():
        if file.name not in ("libshoal_mpi.so", "__pycache__"):
            (top / "shoal" / file.name).symlink_to(file.resolve())
    source = ROOT / "collectives/transport/mpi_module/mpi_module.cc"
    subprocess.run(["clang++-19", "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}", f"-I{mpich}/include",
                    source, "-o", top / "shoal/libshoal_mpi.so", f"-L{mpich}/lib", "-lmpi", f"-Wl,-rpath,{mpich}/lib"], check=True)
    return top


def test_module_built_for_mpich(built_for_mpich):
    path = os.pathsep.join([str(built_for_mpich), os.environ.get("PYTHONPATH", "")])
    outcome = finish(begin("mpich", 3, 1, command("collectives.py"), SHOAL_SHM=0, SHOAL_LOG=1, PYTHONPATH=path), 300)
    for told in outcome.all(3):
        assert told and not {name: error for name, error in told.items() if error != 0}
    assert "MPI: rank 2 of 3" in outcome.output
