"""README's table of options is the table of flags, and the files that it names are there."""

import re

from source_tree import ROOT


def flag_rows():
    """The rows of core/base/flag_list.h as README shows them (FlagTable of core/base/flags.h prints the same)."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "core/base/flag_list.h").read_text())
    rows = re.findall(r'F\((\w+), \w+, "([^"]*)",\s*"([^"]*)"\)', text)
    return [f"| `{name}` | {default or 'none'} | {meaning} |" for name, default, meaning in rows]


def test_options():
    readme = (ROOT / "README.md").read_text().splitlines()
    rows = flag_rows()
    assert len(rows) > 10
    start = readme.index(rows[0])
    assert readme[start : start + len(rows)] == rows


def test_named_files_exist():
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text()
        named = re.findall(r"(?:scripts|examples|tests|core|collectives|sharding|launcher|plugin)/[\w/.-]*\w", text)
        missing = [n for n in set(named) if not (ROOT / n.rstrip(".")).exists()]
        assert not missing, f"{document}: {missing}"
