# shellcheck shell=bash
# Probes for programs and libraries, and the installation of missing packages with apt.

# What a build requires, as "probe|package[ other names of it…]".
readonly required=(
  'compiler c++|g++'
  'program cmake|cmake'
  'program ninja|ninja-build'
  'header gtest/gtest.h|libgtest-dev'
  'header stb/stb_image.h|libstb-dev'
  'header jpeglib.h|libjpeg62-turbo-dev libjpeg-turbo8-dev libjpeg-dev'
  'header CLI/CLI.hpp|libcli11-dev'
  'header nlohmann/json.hpp|nlohmann-json3-dev'
  'header zlib.h|zlib1g-dev'
  'header protozero/pbf_reader.hpp|libprotozero-dev'
)
# Optional: oneDNN's CPU kernels, the server.
readonly optional=(
  'header oneapi/dnnl/dnnl.hpp|libdnnl-dev libonednn-dev'
  'header boost/beast.hpp|libboost-dev'
)
# Faster rebuilds. A first build without it is the faster one: it joins sources (cmake/LensletFirstBuild.cmake).
readonly for_rebuilds=('program ccache|ccache')
readonly clang_major=14  # the version that formats and lints the tree; other versions differ in details
# Needed by some tests, which are skipped without it.
readonly for_tests=(
  'program zsh|zsh'
  'program mandoc|mandoc'
  'program groff|groff-base'
  'program doxygen|doxygen'
  'program dpkg-shlibdeps|dpkg-dev'
  'program pkg-config|pkgconf pkg-config'
  'program python3|python3'
  'python_module ensurepip|python3-venv'
  'any_python_module matplotlib|python3-matplotlib'
  'program shellcheck|shellcheck'
  'program curl|curl'
  'program git|git'
  'program mpicxx|libopenmpi-dev'
  'program mpirun|openmpi-bin'
  "program clang-format-$clang_major|clang-format-$clang_major"
  "program clang-tidy-$clang_major|clang-tidy-$clang_major"
)

# Needed by tests with the label `apps`. Packages of PyPI: tests/apps_requirements.txt.
readonly for_apps=(
  'python_module_of_apt torch|python3-torch'
  'python_module_of_apt ensurepip|python3-venv'
  'program chromedriver|chromium-driver'
  'program wrk|wrk'
)

has_program() {
  command -v "$1" >/dev/null 2>&1
}

# has_python_module MODULE [PYTHON]
has_python_module() {
  local python=${2:-python3}
  has_program "$python" &&
    "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$1"
}

# install_from_pypi VENV REQUIREMENTS PYTHON [OPTIONS OF venv…]: makes a virtual environment with the packages of that
# file, once for each text of the file. Returns 1 if pip could not install them.
install_from_pypi() {
  local venv=$1 names=$2 python=$3
  shift 3
  ! cmp -s "$names" "$venv/installed.txt" || return 0
  say "installing the packages of $names into $venv"
  logged "$python" -m venv --clear "$@" "$venv" &&
    logged "$venv/bin/pip" --disable-pip-version-check install --requirement "$names" &&
    cp "$names" "$venv/installed.txt"
}

# apt installs modules for the distribution's Python, which need not be the first python3 on PATH.
readonly apt_python=/usr/bin/python3
has_python_module_of_apt() {
  has_python_module "$1" "$apt_python"
}

has_any_python_module() {
  has_python_module "$1" || has_python_module_of_apt "$1"
}

has_compiler() {
  has_program "${CXX:-$1}"
}

# Uses the compiler's search path, so that a header in /usr/local or CPATH counts.
has_header() {
  has_compiler c++ &&
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1
}

# present "probe|packages"
present() {
  local kind what
  read -r kind what <<<"${1%%|*}"
  "has_$kind" "$what"
}

# all_present "probe|packages"…
all_present() {
  local entry
  for entry in "$@"; do
    present "$entry" || return 1
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    logged "$@"
  elif has_program sudo; then
    local sudo=(sudo)
    [ -t 0 ] || sudo+=(-n)  # without a terminal to type a password at, sudo fails at once
    logged "${sudo[@]}" "$@"
  else
    return 1
  fi
}

apt_updated=no
apt_update() {
  [ "$apt_updated" = no ] || return 1
  apt_updated=yes
  say "reading the archive's package lists"
  as_root apt-get update || say 'apt-get update failed: continuing with the old package lists'
}

apt_knows() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -E "^  Candidate: [0-9]" >/dev/null
}

# Prints the first of the names that apt has a package for.
apt_name() {
  local name
  for name in "$@"; do
    if apt_knows "$name"; then
      printf '%s\n' "$name"
      return 0
    fi
  done
  return 1
}

apt_install() {
  # The status is written to a descriptor that is a copy of the output: sudo closes other descriptors, and with
  # descriptor 1 the packages' scripts find no output if there is no pseudo-terminal.
  # shellcheck disable=SC2016  # expanded by the inner shell
  local install=(env DEBIAN_FRONTEND=noninteractive sh -c 'exec "$0" "$@" 3>&1'
    apt-get install -y --no-install-recommends -o APT::Status-Fd=3 "$@")
  as_root "${install[@]}" && return 0
  # The package lists may be older than the archive: try once more with fresh ones.
  apt_update && as_root "${install[@]}"
}

# install_missing required|optional "probe|packages"… [-- "probe|packages"…]: installs those that are missing. If any of
# them is, those after -- are installed in the same transaction; if that fails, it is repeated without them.
install_missing() {
  local how=$1 entry name names=() wanted=() also=()
  shift
  while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
    present "$1" || wanted+=("$1")
    shift
  done
  [ "${#wanted[@]}" -gt 0 ] || return 0
  if ! has_program apt-get; then
    [ "$how" = optional ] && return 0
    die "missing: ${wanted[*]%%|*}. There is no apt-get here:" \
      "install the equivalents of these Debian packages: ${wanted[*]#*|}"
  fi
  if [ "$(id -u)" -ne 0 ] && ! has_program sudo; then
    [ "$how" = required ] || {
      say "optional packages not installed (neither root nor sudo): ${wanted[*]#*|}"
      return 0
    }
    die "not root and no sudo: run as root: apt-get install ${wanted[*]#*|}"
  fi
  for entry in "${wanted[@]}"; do
    local -a candidates
    read -ra candidates <<<"${entry#*|}"
    if name=$(apt_name "${candidates[@]}") || { apt_update && name=$(apt_name "${candidates[@]}"); }; then
      names+=("$name")
    elif [ "$how" = optional ]; then
      say "optional package not in the package lists: ${candidates[0]}"
    else
      die "apt has no package ${candidates[*]}:" \
        "check the network, and enable the archive's main component (Ubuntu: universe)"
    fi
  done
  [ "${#names[@]}" -gt 0 ] || return 0
  for entry in "${@:2}"; do
    read -ra candidates <<<"${entry#*|}"
    present "$entry" || ! name=$(apt_name "${candidates[@]}") || also+=("$name")
  done
  if [ "${#also[@]}" -gt 0 ]; then
    say "installing ($how and optional): ${names[*]} ${also[*]}"
    ! apt_install "${names[@]}" "${also[@]}" || return 0
  fi
  say "installing ($how): ${names[*]}"
  if ! apt_install "${names[@]}"; then
    [ "$how" = optional ] || log_die "apt-get could not install: ${names[*]}"
    for entry in "${wanted[@]}"; do
      present "$entry" || say "optional package not installed (the reason is in $log): ${entry#*|}"
    done
  fi
}
