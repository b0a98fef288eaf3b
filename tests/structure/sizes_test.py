"""No function of the product is longer than a screen or two, and no file is two concepts (STYLE.md)."""

import sizes

LONGEST_FUNCTION = 70
LONGEST_FILE = 600


def test_functions():
    found = sizes.functions(sizes.product())
    assert len(found) > 100, "ctags found hardly a function"
    long = [f"{n} lines: {path}:{line} {name}" for n, path, line, name in found if n > LONGEST_FUNCTION]
    assert not long, "\n".join(long)


def test_files():
    long = [f"{n} lines: {path}" for n, path in sizes.files(sizes.product()) if n > LONGEST_FILE]
    assert not long, "\n".join(long)


def test_report(capsys):
    with capsys.disabled():
        print("\n" + sizes.report())
