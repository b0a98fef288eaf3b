"""How long functions and files are: `python tests/structure/sizes.py` prints the longest and the medians."""

import json
import statistics
import subprocess

from source_tree import ROOT, sources


def functions(paths):
    """(lines, path, first line, name) of each function that ctags finds."""
    out = subprocess.run(
        ["ctags", "--output-format=json", "--fields=+ne", "--kinds-C++=f", "--kinds-Python=fm", "-f", "-", *paths],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tags = [json.loads(line) for line in out.splitlines()]
    return sorted(((t["end"] - t["line"] + 1, t["path"], t["line"], t["name"]) for t in tags if "end" in t), reverse=True)


def files(paths):
    """(lines, path) of each file."""
    return sorted(((len((ROOT / p).read_text().splitlines()), p) for p in paths), reverse=True)


def product():
    return [p for p in sources((".h", ".cc", ".py")) if not p.startswith("tests/")]


def spread(lengths):
    ordered = sorted(lengths)
    return f"median {statistics.median(ordered):g}, p90 {ordered[int(len(ordered) * 0.9)]}, longest {ordered[-1]}"


def report():
    long_functions, long_files = functions(product()), files(product())
    lines = [f"{len(long_files)} files, lines: {spread([f[0] for f in long_files])}"]
    lines += [f"  {n:5}  {path}" for n, path in long_files[:5]]
    lines += [f"{len(long_functions)} functions, lines: {spread([f[0] for f in long_functions])}"]
    lines += [f"  {n:5}  {path}:{line} {name}" for n, path, line, name in long_functions[:5]]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
