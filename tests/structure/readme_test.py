"""README's table of options is the table of flags; what READMEs name is there, and what is there they name."""

import pathlib
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


def listed():
    """Every file of the tree."""
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_named_files_exist():
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text()
        named = re.findall(r"(?:scripts|examples|tests|core|collectives|sharding|launcher|plugin)/[\w/.-]*\w", text)
        missing = [n for n in set(named) if not (ROOT / n.rstrip(".")).exists()]
        assert not missing, f"{document}: {missing}"


def test_files_that_folders_name_exist():
    """In a folder's README `x.cc` and `part/x.cc` are files of the folder, or the end of a path; `part/x` needs no ending."""
    paths = listed()
    ends = {f"/{path[i + 1:]}" for path in paths for i in (-1, *(i for i, c in enumerate(path) if c == "/"))}
    ends |= {end.rpartition(".")[0] for end in ends}
    folders = {str(folder) for path in paths for folder in pathlib.PurePath(path).parents}
    checked, missing = 0, []
    for document in (path for path in paths if path.endswith("/README.md")):
        for name in re.findall(r"`([\w-]+(?:/[\w.-]+)+|[\w-]+\.(?:h|cc|py|sh|proto|txt))`", (ROOT / document).read_text()):
            if name.startswith("build/"):
                continue
            checked += 1
            here = str(pathlib.PurePath(document).parent / name)
            if f"/{name}" not in ends and name not in folders and here not in folders:
                missing.append(f"{document}: `{name}`")
    assert checked > 100
    assert not missing, "\n".join(missing)


def test_each_top_folder_has_a_readme_with_its_parts():
    missing = []
    for top in (*FOLDERS, "scripts"):
        readme = ROOT / top / "README.md"
        text = readme.read_text() if readme.exists() else ""
        parts = {path.split("/")[1] for path in listed() if path.startswith(f"{top}/") and path.count("/") > 1}
        missing += [f"{top}/README.md: `{part}`" for part in sorted(parts | {""}) if f"`{part}" not in text]
    assert not missing, "\n".join(missing)
