"""The lines of a process that ends, dies or hangs, and how it ended."""

import os
import signal
import sys

from worker import Worker


def worker(program, **options):
    return Worker([sys.executable, "-c", program], dict(os.environ), **options)


def test_one_that_ends():
    one = worker("import sys; print('a\\nb'); print('c', end='\\n'); sys.stderr.write('x' * 200_000)")
    assert list(one) == ["a", "b", "c"]
    assert (one.code, one.stuck, len(one.errors)) == (0, False, 200_000)


def test_one_that_dies():
    one = worker("import os; print('a', flush=True); os.write(2, b'why'); os.abort()")
    assert list(one) == ["a"]
    assert (one.code, one.stuck, one.errors) == (-signal.SIGABRT, False, "why")


def test_one_that_hangs():
    one = worker("import time; print('a', flush=True); time.sleep(60)", patience_s=2)
    assert list(one) == ["a"]
    assert (one.code, one.stuck) == (-signal.SIGKILL, True)
