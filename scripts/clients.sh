#!/usr/bin/env bash
# The client programs (tests/clients) with every library of tests/clients/more.txt, in an environment of their own beside
# .venv: a table of their wall and compile seconds, beside those of JAX's own CPU backend. Arguments name programs.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

set_up
build_plugin
venv=build/clients
if ! cmp -s tests/clients/more.txt $venv/more.txt; then
  say "installing the libraries into $venv"
  [ -x $venv/bin/python ] || $PYTHON -m venv $venv
  # What .venv has (JAX, the plugin, pytest) is seen from here, and pip does not install it twice.
  site='import sysconfig; print(sysconfig.get_path("purelib"))'
  $PYTHON -c "$site" > "$($venv/bin/python -c "$site")/venv.pth"
  $venv/bin/python -m pip install -q -c requirements.txt -r tests/clients/more.txt
  cp tests/clients/more.txt $venv/
fi
say "running the programs"
exec $venv/bin/python tests/clients/table.py "$@"
