"""JAX's own tests of several processes, on Shoal and on jaxlib: `python tests/distributed/jax_suite.py JAX_CHECKOUT`.

The checkout is https://github.com/jax-ml/jax at the tag of the JAX that is installed; its tests/multiprocess are run with 2 x 4
and 4 x 2 processes x devices. A test passes where it passes in every process. Prints, for each file, how many of the tests
that pass with jaxlib pass with Shoal, and every one that does not. `--no-skips` runs what skips the CPU as well.
"""

import argparse
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from jobs import FOREIGN, free_port

# Files that no CPU backend can pass, with the reason.
OUT_OF_REACH = {
    "pgle_test.py": "profile-guided latency estimation is XLA's, on GPU",
    "tpu_device_test.py": "reads attributes of a TPU",
    "socket_transfer_test.py": "turns on jaxlib's own socket transport, which only its in-tree clients have",
}
# Tests that say what jaxlib's CPU backend cannot do, and Shoal can.
DOES_MORE = {"CrossHostTransferTest.test_cross_host_transfer_cpu_error", "CrossHostTransferTest.test_device_put_to_cpu"}
LAYOUTS = [(2, 4), (4, 2)]
WITHIN_S = 600


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("files", nargs="*", help="all, where none is named")
    parser.add_argument("--layout", help="only this one, for example 4x2")
    parser.add_argument("--only", choices=["shoal", "cpu"], help="run one of the two alone")
    parser.add_argument("--no-skips", action="store_true", help="run what skips the CPU, on Shoal alone")
    parser.add_argument("--logs", type=pathlib.Path, help="keep what the processes print in this directory")
    options = parser.parse_args()
    folder = options.checkout / "tests/multiprocess"
    files = [folder / name for name in options.files] or sorted(folder.glob("*_test.py"))
    bad = 0
    for path in files:
        if path.name in OUT_OF_REACH:
            print(f"{path.name}: left out: {OUT_OF_REACH[path.name]}", flush=True)
            continue
        for layout in LAYOUTS:
            if options.layout in (None, "x".join(map(str, layout))):
                bad += compare(path, layout, options)
    return bad > 0


def compare(path, layout, options):
    """How many tests of a file fail on Shoal, of those that should pass."""
    name = f"{path.name} {layout[0]}x{layout[1]}"
    theirs = None if options.only == "shoal" or options.no_skips else run("cpu", path, layout, options)
    if options.only == "cpu":
        print(f"{name}: jaxlib {tally(theirs)}", flush=True)
        return 0
    ours = run("shoal", path, layout, options)
    wanted = [test for test in ours if theirs is None] or [t for t, verdict in (theirs or {}).items() if verdict == "passed"]
    wanted = [t for t in wanted if t not in DOES_MORE]
    failed = [t for t in wanted if ours.get(t) not in (("passed",) if theirs else ("passed", "skipped"))]
    print(f"{name}: {len(wanted) - len(failed)} of {len(wanted)}; Shoal {tally(ours)}"
          + (f"; jaxlib {tally(theirs)}" if theirs is not None else ""), flush=True)
    for test in failed:
        print(f"    {test}: {ours.get(test, 'did not run')}", flush=True)
    return len(failed) + (not ours)


def tally(verdicts):
    kinds = ("passed", "skipped", "failed")
    return ", ".join(f"{sum(v.startswith(k) for v in verdicts.values())} {k}" for k in kinds)


def run(platform, path, layout, options):
    """The verdict of each test of a file: "passed", "skipped" or why it failed in one of the processes."""
    processes, devices = layout
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment |= {"JAX_PLATFORMS": platform}
    environment |= ({"SHOAL_NUM_DEVICES": str(devices)} if platform == "shoal" else
                    {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"})
    with tempfile.TemporaryDirectory() as results:
        started = []
        for p in range(processes):
            log = open((options.logs or pathlib.Path(results)) / f"{path.stem}.{platform}.{processes}.{p}.log", "w")
            argv = [sys.executable, __file__, "--worker", "yes" if options.no_skips else "no", path,
                    f"--num_processes={processes}", f"--multiprocess_test_worker_id={p}",
                    f"--multiprocess_test_controller_address=localhost:{port}", "--initialization_timeout=120",
                    "--heartbeat_timeout=100", f"--xml_output_file={results}/{p}.xml"]
            started.append(subprocess.Popen(argv, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=path.parent))
        for process in started:
            try:
                process.wait(WITHIN_S)
            except subprocess.TimeoutExpired:
                for late in started:
                    late.kill()
        return together([verdicts(pathlib.Path(results) / f"{p}.xml", started[p].returncode) for p in range(processes)])


def verdicts(path, code):
    """What one process says of its tests; nothing where it died."""
    if not path.exists():
        return {"the process": f"failed: exit code {code}"}
    found = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        wrong = [child.get("message") or "" for child in case if child.tag in ("failure", "error")]
        skipped = case.get("status") == "notrun" or case.get("result") == "suppressed" or case.find("skipped") is not None
        test = f"{case.get('classname').split('.')[-1]}.{case.get('name')}"
        found[test] = f"failed: {' '.join(wrong[0].split())[:300]}" if wrong else "skipped" if skipped else "passed"
    return found


def together(by_process):
    """One verdict a test: the worst."""
    all_tests = sorted(set().union(*by_process))
    worst = lambda said: min(said, key=lambda v: (v == "passed", v == "skipped"))
    return {test: worst([said.get(test, "failed: not run in every process") for said in by_process]) for test in all_tests}


def work(skips, path, *flags):
    """In a process of the job."""
    from jax._src import test_util

    if skips == "yes":
        real = test_util.skip_on_devices
        test_util.skip_on_devices = lambda *devices, **kw: (lambda test: test) if "cpu" in devices else real(*devices, **kw)
    sys.argv = [path, *flags]
    sys.path.insert(0, str(pathlib.Path(path).parent))
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        sys.exit(main())
