"""shoalrun as a person uses it."""

import os
import signal
import subprocess
import time


def run(shoalrun, *arguments, **kwargs):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_") and k != "JAX_PLATFORMS"}
    return subprocess.run([shoalrun, *arguments], capture_output=True, text=True, timeout=60, env=environment, **kwargs)


def test_each_process_knows_its_place(shoalrun):
    script = "echo $SHOAL_PROCESS_ID of $SHOAL_NUM_PROCESSES, $SHOAL_NUM_DEVICES devices, $JAX_PLATFORMS, $SHOAL_JOB"
    done = run(shoalrun, "-n", "3", "--devices", "5", "--label", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    job = lines[0].split()[-1]
    assert lines == [f"[{p}] {p} of 3, 5 devices, shoal, {job}" for p in range(3)]


def test_lines_are_whole(shoalrun):
    done = run(shoalrun, "-n", "3", "--label", "sh", "-c", "for i in 1 2 3 4 5 6 7; do echo line $i; done; printf end")
    for process in range(3):
        own = [line[4:] for line in done.stdout.splitlines() if line.startswith(f"[{process}]")]
        assert own == [f"line {i}" for i in range(1, 8)] + ["end"]


def test_error_output_stays_apart(shoalrun):
    done = run(shoalrun, "-n", "2", "--label", "sh", "-c", "echo said; echo complained >&2")
    assert sorted(done.stdout.splitlines()) == ["[0] said", "[1] said"]
    assert sorted(done.stderr.splitlines()) == ["[0] complained", "[1] complained"]


SAYS_CORES = ["python3", "-c", "import os; os.write(1, (' '.join(map(str, os.sched_getaffinity(0))) + '\\n').encode())"]


def test_processes_have_cores_of_their_own(shoalrun):
    allowed = os.sched_getaffinity(0)
    count = min(len(allowed), 3)
    shares = [set(map(int, line.split())) for line in run(shoalrun, "-n", str(count), *SAYS_CORES).stdout.splitlines()]
    assert len(shares) == count and set().union(*shares) == allowed
    assert sum(map(len, shares)) == len(allowed)


def test_more_processes_than_cores_share_them(shoalrun):
    allowed = os.sched_getaffinity(0)
    for arguments in (["-n", str(len(allowed) + 1)], ["-n", "1", "--bind", "none"]):
        for line in run(shoalrun, *arguments, *SAYS_CORES).stdout.splitlines():
            assert set(map(int, line.split())) == allowed


def test_process_0_alone_reads_the_input(shoalrun):
    done = run(shoalrun, "-n", "3", "--label", "cat", input="one line\n")
    assert done.stdout == "[0] one line\n"


def test_what_a_failed_process_leaves_behind_is_ended(shoalrun):
    start = time.time()
    done = run(shoalrun, "-n", "1", "--grace", "0.2", "sh", "-c", "sleep 51 & echo $!; exit 3")
    assert done.returncode == 3
    assert time.time() - start < 20
    assert not os.path.exists(f"/proc/{done.stdout.strip()}")


def test_first_failure_ends_the_rest(shoalrun):
    start = time.time()
    done = run(shoalrun, "-n", "3", "--grace", "0.3", "sh", "-c", "[ $SHOAL_PROCESS_ID != 1 ] || exit 7; exec sleep 50")
    assert done.returncode == 7
    assert "process 1 ended with exit code 7" in done.stderr
    assert time.time() - start < 20


def test_survivors_have_time_to_tell(shoalrun):
    script = "[ $SHOAL_PROCESS_ID != 1 ] || kill -9 $$; sleep 0.3; echo told"
    done = run(shoalrun, "-n", "3", "--grace", "20", "sh", "-c", script)
    assert done.returncode == 128 + 9
    assert done.stdout.split() == ["told", "told"]


def test_deaf_processes_are_killed(shoalrun):
    script = "trap '' TERM; [ $SHOAL_PROCESS_ID != 1 ] || exit 3; while :; do sleep 0.1; done"
    assert run(shoalrun, "-n", "2", "--grace", "0.2", "sh", "-c", script).returncode == 3


def test_signals_are_passed_on(shoalrun):
    script = "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([shoalrun, "-n", "2", "sh", "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "ready\n"]
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20)[0].split() == ["stopped", "stopped"]
        assert process.returncode == 0


def test_an_interrupt_ends_the_deaf_as_well(shoalrun):
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([shoalrun, "-n", "2", "--grace", "0.2", "sh", "-c", script], stdout=subprocess.PIPE, text=True) as job:
        assert [job.stdout.readline() for _ in range(2)] == ["ready\n", "ready\n"]
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=20)
        assert job.returncode == 128 + 9


def test_bad_arguments_are_named(shoalrun):
    for arguments, words in [(["-n", "x", "true"], "-n does not take x"), (["--bind", "x"], "--bind does not take x"), (["true"], "Give -n N"),
                             (["-n", "2"], "which command"), (["--huh", "true"], "no such option: --huh")]:
        done = run(shoalrun, *arguments)
        assert done.returncode == 2 and words in done.stderr
    assert run(shoalrun, "-n", "2", "no-such-command").returncode == 127
    assert "usage" in run(shoalrun, "--help").stdout
