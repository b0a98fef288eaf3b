"""README's table of options is the table of flags; what READMEs name is there, and what is there they name."""

import re
import subprocess

from source_tree import FOLDERS, ROOT


def flag_rows():
    """The rows of core/base/flag_list.h as README shows them."""
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


def test_each_top_folder_has_a_readme_with_its_parts():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    missing = []
    for top in (*FOLDERS, "scripts"):
        readme = ROOT / top / "README.md"
        text = readme.read_text() if readme.exists() else ""
        parts = {path.split("/")[1] for path in listed if path.startswith(f"{top}/") and path.count("/") > 1}
        missing += [f"{top}/README.md: `{part}`" for part in sorted(parts | {""}) if f"`{part}" not in text]
    assert not missing, "\n".join(missing)
