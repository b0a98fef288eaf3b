"""SHOAL_TIMELINE: one file of what all processes did, by one clock."""

import collections
import json

import pytest
from hosts import Hosts, can_make_hosts
from jobs import command, environment, finish, shoalrun as run_shoalrun, start

# What clocks and the two ends of a collective may differ by, in microseconds, beside the 300 ms that one process is late.
ALMOST = 20_000


def check(path, outcome, processes, devices):
    told = outcome.all(processes)
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert sorted(names) == list(range(processes))
    assert all(names[p].startswith(f"process {p} (") and names[p].endswith(f", pid {told[p]['pid']})") for p in names)
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for p in range(processes):
        for d in range(p * devices, (p + 1) * devices):
            assert {f"device {d}: programs", f"device {d}: computation"} < {row for (pid, _), row in rows.items() if pid == p}
    spans = [e for e in events if e["ph"] == "X"]
    assert all(e["ts"] >= 0 and e["dur"] > 0 for e in spans)
    check_rows(spans)
    if processes > 1:
        assert {e["pid"] for e in spans if e["cat"] == "collectives between processes"} == set(range(processes))
    steps = [e for e in spans if e["cat"] == "programs" and e["name"] == "jit_timed_step"]
    assert len(steps) == 4 * processes * devices
    check_inside(spans, steps)
    return steps, spans


def check_rows(spans):
    """Nothing overlaps in a row, which viewers do not show."""
    for row in group(spans, "pid", "tid").values():
        row.sort(key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for a, b in zip(row, row[1:]))


def check_inside(spans, steps):
    """All that a run does lies between its beginning and its end."""
    for step in steps:
        own = [e for e in spans if e["cat"] in ("computation", "collectives") and e["pid"] == step["pid"]
               and e["tid"] // 1000 == step["tid"] // 1000 and e["args"].get("run") == step["args"]["run"]
               and step["ts"] <= e["ts"] <= step["ts"] + step["dur"]]
        assert {e["cat"] for e in own} == {"computation", "collectives"}
        assert all("timed.py:" in e["name"] for e in own), own
        assert all(e["ts"] + e["dur"] <= step["ts"] + step["dur"] + 1 for e in own)


def check_together(steps, spans, participants):
    """No participant of a sum ends it before the last one has begun: so it is by clocks that agree."""
    runs = {s["args"]["run"] for s in steps}
    sums = [e for e in spans if e["cat"] == "collectives" and e["args"]["run"] in runs and e["name"].startswith("all-reduce")]
    by_run = group(sums, "args", "name")
    assert by_run
    for entries in by_run.values():
        assert len(entries) == participants
        assert max(e["ts"] for e in entries) <= min(e["ts"] + e["dur"] for e in entries) + ALMOST
    longest = max(max(e["dur"] for e in entries) for entries in by_run.values())
    assert longest > 200_000  # who waited for the late one
    latest = max(by_run.values(), key=lambda entries: max(e["ts"] for e in entries))
    waited = {e["pid"]: e["dur"] for e in latest}
    assert waited[0] > 200_000 and waited[1] < waited[0] - 200_000


def group(events, *keys):
    groups = collections.defaultdict(list)
    for event in events:
        groups[tuple(event[k]["run"] if k == "args" else event[k] for k in keys)].append(event)
    return groups


def test_one_host(shoalrun, tmp_path):
    path = tmp_path / "timeline.json"
    outcome = run_shoalrun(shoalrun, 2, 2, command("timed.py"), SHOAL_TIMELINE=path)
    check_together(*check(path, outcome, 2, 2), 4)


@pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces")
def test_two_hosts(tmp_path):
    path = tmp_path / "timeline.json"
    with Hosts(2) as hosts:
        outcome = hosts.mpirun(1, 2, command("timed.py"), SHOAL_TIMELINE=path)
    check_together(*check(path, outcome, 2, 2), 4)


def test_one_process(tmp_path):
    path = tmp_path / "timeline.json"
    outcome = finish(start(command("timed.py"), environment(2, SHOAL_TIMELINE=path)), 300)
    check(path, outcome, 1, 2)
