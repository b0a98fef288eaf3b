"""A process that tells what it finds line by line, and may die or hang over it."""

import os
import select
import subprocess
import tempfile


class Worker:
    """Iterate over the lines that the process prints; then it has ended, and the attributes say how."""

    def __init__(self, command, env, patience_s=None):
        """A process that prints nothing for `patience_s` seconds is ended."""
        self._command, self._env, self._patience_s = command, env, patience_s
        self.stuck = False
        self.code = None  # that it ended with
        self.errors = ""  # what it wrote there

    def __iter__(self):
        # A file, not a pipe: nobody reads a pipe of errors while the process runs, and a full one would stop it.
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(self._command, env=self._env, stdout=subprocess.PIPE, stderr=errors) as process,
        ):
            yield from self._lines(process)
            self.code = process.wait()
            errors.seek(0)
            self.errors = errors.read().decode(errors="replace")

    def _lines(self, process):
        rest = b""
        while True:
            ready, _, _ = select.select([process.stdout], [], [], self._patience_s)
            if not ready:
                self.stuck = True
                process.kill()
                return
            more = os.read(process.stdout.fileno(), 1 << 16)
            *lines, rest = (rest + more).split(b"\n")
            yield from (line.decode() for line in lines)
            if not more:
                return
