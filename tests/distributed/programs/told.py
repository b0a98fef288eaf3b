"""Import first: joins jax.distributed where the test asks for it, and gives tell(value), which the test reads."""

import json
import os
import sys

import jax


def distributed():
    """Joins jax.distributed where the test asks for it: with numbers, or as JAX finds them (TEST_DISTRIBUTED)."""
    if "TEST_COORDINATOR" in os.environ:
        jax.distributed.initialize(os.environ["TEST_COORDINATOR"], int(os.environ["TEST_PROCESSES"]),
                                   int(os.environ["TEST_PROCESS"]))
    elif "TEST_DISTRIBUTED" in os.environ:
        import shoal  # noqa: F401, which shows JAX the launchers that it does not know

        jax.distributed.initialize()


def tell(value, process=None):
    """One line in one write, so that lines of processes do not mix."""
    process = jax.process_index() if process is None else process
    sys.stdout.write("TOLD " + json.dumps({"process": process, "value": value}) + "\n")
    sys.stdout.flush()
