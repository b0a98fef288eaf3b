"""Holds the #include graph to CONTRIBUTING.md: who may use whom, and one home for each outside library."""

import pytest
from source_tree import ROOT, folder, includes, sources

# What each top-level folder may include of the others; itself always, tests anything.
MAY_INCLUDE = {
    "core": set(),
    "collectives": {"core"},
    "sharding": {"core"},
    "launcher": {"core", "collectives"},
    "plugin": {"core", "collectives", "sharding", "launcher"},
}

# Outside library: (how its headers begin, the homes that may include them; a home is a path's beginning).
HOMES = {
    "LLVM": (("llvm/", "llvm-c/", "clang/"), ("core/jit/", "core/codegen/")),
    "oneTBB": (("tbb/", "oneapi/tbb"), ("core/tasks/",)),
    "MPI": (("mpi.h",), ("collectives/transport/mpi",)),
    "UCX": (("ucp/", "uct/", "ucs/"), ("collectives/transport/ucx",)),
    "PJRT's C header": (("xla/pjrt/",), ("plugin/api/",)),
    "XLA's FFI header": (("xla/ffi/",), ("plugin/ffi/",)),
    "Python": (("Python.h", "nanobind/", "pybind11/"), ("plugin/python/",)),
}


def edges():
    """(including file, included name), of quoted includes that name a file of the tree."""
    return [(path, name) for path in sources() for kind, name in includes(path) if kind == '"' and (ROOT / name).exists()]


def test_there_is_something_to_check():
    assert len(edges()) > 100


def test_folders_depend_downwards_only():
    wrong = []
    for path, name in edges():
        top, used = path.split("/")[0], name.split("/")[0]
        if top in MAY_INCLUDE and used != top and used not in MAY_INCLUDE[top]:
            wrong.append(f"{path} includes {name}")
    assert not wrong, "\n".join(wrong)


def test_launcher_knows_nothing_of_programs():
    wrong = [f"{path} includes {name}" for path, name in edges()
             if path.startswith("launcher/") and name.startswith("core/") and folder(name) != "core/base"]
    assert not wrong, "\n".join(wrong)


def test_folders_form_no_cycle():
    graph = {}
    for path, name in edges():
        if path.split("/")[0] in MAY_INCLUDE and folder(path) != folder(name):
            graph.setdefault(folder(path), {}).setdefault(folder(name), f"{path} includes {name}")
    assert find_cycle(graph) == []


def find_cycle(graph):
    """The reasons along one cycle of folders; empty where there is none."""
    done = set()

    def visit(node, trail):
        if node in trail:
            ring = trail[trail.index(node):] + [node]
            return [graph[a][b] for a, b in zip(ring, ring[1:])]
        if node in done:
            return []
        for used in graph.get(node, {}):
            if ring := visit(used, trail + [node]):
                return ring
        done.add(node)
        return []

    return next((ring for node in sorted(graph) if (ring := visit(node, []))), [])


def test_find_cycle_finds_one():
    graph = {"a": {"b": "a-b"}, "b": {"c": "b-c", "d": "b-d"}, "c": {}, "d": {"b": "d-b"}}
    assert find_cycle(graph) == ["b-d", "d-b"]


@pytest.mark.parametrize("library", HOMES)
def test_outside_library_has_one_home(library):
    begins, homes = HOMES[library]
    wrong = [f"{path} includes {name}" for path in sources() for _, name in includes(path)
             if name.startswith(begins) and not path.startswith(homes + tuple("tests/" + home for home in homes))]
    assert not wrong, "\n".join(wrong)


def test_headers_of_the_tree_are_included_from_its_root():
    wrong = [f"{path} includes {name}" for path in sources() for kind, name in includes(path)
             if kind == '"' and not (ROOT / name).exists() and (ROOT / path).parent.joinpath(name).exists()]
    assert not wrong, "\n".join(wrong)


def test_every_header_has_a_guard_and_opens_with_its_contract():
    wrong = []
    for path in sources((".h",)):
        text = (ROOT / path).read_text()
        if "#pragma once" not in text:
            wrong.append(f"{path}: no #pragma once")
        if not text.startswith("//"):
            wrong.append(f"{path}: does not open with what it is")
    assert not wrong, "\n".join(wrong)
