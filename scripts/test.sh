#!/usr/bin/env bash
# Every test: the same set-up as quickstart.sh, then the C++ tests (ctest) and the Python tests (pytest). The last line
# is "N passed, N failed, N skipped". Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

set_up
build_plugin
install_clients
install_other_mpis
say "building the tests"
cmake --build $BUILD

results=$PWD/$BUILD/results
rm -rf $results
mkdir -p $results
set +e
say "C++ tests"
ctest --test-dir $BUILD -j2 --output-on-failure --no-tests=error --output-junit $results/ctest.xml
cpp=$?
say "Python tests"
$PYTHON -m pytest -n 2 --junitxml=$results/pytest.xml "$@"
python=$?
say "ended: ctest $cpp, pytest $python"
$PYTHON scripts/count_tests.py $results/ctest.xml $results/pytest.xml
counts=$?
exit $((cpp || python || counts))
