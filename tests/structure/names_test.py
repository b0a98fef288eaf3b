"""pytest imports test files by their bare names: two of the same name in different folders fail together, though each runs alone."""

import collections
import pathlib

from source_tree import sources


def test_names_of_test_files_are_unique():
    paths = collections.defaultdict(list)
    for path in sources((".py",)):
        if path.startswith("tests/") and path.endswith("_test.py"):
            paths[pathlib.PurePath(path).name].append(path)
    assert len(paths) > 20
    assert not {name: where for name, where in paths.items() if len(where) > 1}
