"""Several hosts on this machine: network namespaces on a bridge, which share the file system and /dev/shm.

    with Hosts(2) as hosts:
        hosts.mpirun(processes_per_host, devices, argv)

Needs root and iproute2. Addresses are of this test alone: everything is made in namespaces of its own.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from jobs import MPIRUN, environment, finish, start


def can_make_hosts():
    if os.getuid() != 0:
        return False
    name = f"shoal-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=False)
    return made


class Hosts:
    def __init__(self, count, rate=None):
        """`rate` limits what each host sends, as tc says it: 1gbit."""
        self.count = count
        self.rate = rate
        self.tag = f"shoal{os.getpid()}"
        self.memory = pathlib.Path("/dev/shm") / self.tag
        self.directory = tempfile.TemporaryDirectory()

    def name(self, host):
        return f"{self.tag}-h{host}"

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def make(self):
        bridge = f"{self.tag}-br"
        self.ip("netns", "add", bridge)
        self.ip("-n", bridge, "link", "add", "br0", "type", "bridge")
        self.ip("-n", bridge, "link", "set", "br0", "up")
        for host in range(1, self.count + 1):
            self.ip("netns", "add", self.name(host))
            self.ip("-n", self.name(host), "link", "add", "eth0", "type", "veth", "peer", "name", f"p{host}", "netns", bridge)
            self.ip("-n", bridge, "link", "set", f"p{host}", "master", "br0", "up")
            self.ip("-n", self.name(host), "addr", "add", f"10.77.0.{host}/24", "dev", "eth0")
            self.ip("-n", self.name(host), "link", "set", "eth0", "up")
            self.ip("-n", self.name(host), "link", "set", "lo", "up")
            if self.rate is not None:
                subprocess.run(self.on(host, ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.rate,
                                              "burst", "1mbit", "latency", "50ms"]), check=True)
        # mpirun's way to start its daemon on another host. Open MPI names its shared memory by the machine and the rank
        # on the host: in one folder two hosts' processes would write over each other's, and crash.
        agent = pathlib.Path(self.directory.name) / "agent"
        agent.write_text(f"""#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1; shift
export OMPI_MCA_btl_vader_backing_directory={self.memory}/h${{host##*.}}
mkdir -p $OMPI_MCA_btl_vader_backing_directory
exec ip netns exec {self.tag}-h${{host##*.}} bash -c "$*"
""")
        agent.chmod(0o755)
        self.agent = agent

    def remove(self):
        for name in [self.name(h) for h in range(1, self.count + 1)] + [f"{self.tag}-br"]:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        shutil.rmtree(self.memory, ignore_errors=True)

    def __exit__(self, *_):
        self.remove()
        self.directory.cleanup()

    def cut(self, host):
        self.ip("-n", self.name(host), "link", "set", "eth0", "down")

    def on(self, host, argv):
        """A command line that runs on one host."""
        return ["ip", "netns", "exec", self.name(host), *argv]

    def networks(self):
        """The numbers of the network namespaces, as processes in them see them."""
        seen = [subprocess.run(self.on(h, ["stat", "-L", "-c", "%i", "/proc/self/ns/net"]), capture_output=True, text=True)
                for h in range(1, self.count + 1)]
        return [s.stdout.strip() for s in seen]

    def mpirun(self, per_host, devices, argv, timeout=600, **extra):
        return finish(self.start_mpirun(per_host, devices, argv, **extra), timeout)

    def start_mpirun(self, per_host, devices, argv, more=(), popen=None, **extra):
        network = "10.77.0.0/24"
        hosts = ",".join(f"10.77.0.{h}:{per_host}" for h in range(1, self.count + 1))
        options = ["--mca", "plm_rsh_agent", str(self.agent), "--mca", "orte_keep_fqdn_hostnames", "1",
                   "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network, "-H", hosts,
                   "-n", str(per_host * self.count)]
        exported = [f for k in ("JAX_PLATFORMS", "SHOAL_NUM_DEVICES", "SHOAL_TIMEOUT_S", *extra) for f in ("-x", k)]
        line = self.on(1, [*MPIRUN, *options, *more, *exported, *argv])
        return start(line, environment(devices, **extra), **(popen or {}))
