"""The tracked and new source files of the tree, and what each of them includes."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "collectives", "sharding", "launcher", "plugin", "tests", "examples")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def sources(suffixes=(".h", ".cc")):
    """Paths relative to the root, in the top-level folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(p for p in set(listed) if p.endswith(tuple(suffixes)) and (ROOT / p).exists())


def includes(path):
    """What one file includes: pairs of ('"' or '<', name)."""
    return INCLUDE.findall((ROOT / path).read_text(errors="replace"))


def folder(path):
    """Two levels of a path, the unit of the layout: core/base/status.h is of core/base."""
    return "/".join(path.split("/")[:2])
