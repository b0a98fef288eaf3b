#!/usr/bin/env bash
# C++ tests under a sanitizer:  scripts/sanitize.sh tsan|asan [LABEL]
# LABEL is a folder under tests/, collectives by default, with all below it. What libraries that are not built for the
# sanitizer make it say is passed over by tests/tsan.supp, each line with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?tsan or asan} label=${2:-collectives}
cmake --preset "$preset" >/dev/null
tests=$(ninja -C "build/$preset" -t targets all | grep -oE "^${label//\//_}(_[a-z_]*)?_test:" | tr -d :)
modules=$(ninja -C "build/$preset" -t targets all | grep -oE "^shoal_(mpi|ucx):" | tr -d :)
ninja -C "build/$preset" -j2 $tests $modules
# Processes that a test starts, and mpirun's, have it from here.
export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec ctest --test-dir "build/$preset" -L "^$label" --output-on-failure --no-tests=error
