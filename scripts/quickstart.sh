#!/usr/bin/env bash
# From a clone to the main job: installs what is missing, builds Shoal into .venv, and trains a sharded transformer on
# two processes of two devices each. Arguments go to the example (try --help).
set -euo pipefail
. "$(dirname "$0")/setup.sh"

set_up
build_plugin

say "training a transformer: mpirun -n 2, two devices each"
as_root=()
[ "$(id -u)" != 0 ] || as_root=(--allow-run-as-root)
JAX_PLATFORMS=shoal SHOAL_NUM_DEVICES=2 mpirun "${as_root[@]}" -n 2 --oversubscribe --bind-to none \
  $PYTHON examples/01_transformer_training.py --check "$@"
say "done"
