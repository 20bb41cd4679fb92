# shellcheck shell=bash
# What is on this machine and what is missing: probes, and packages by apt.

# What a build cannot do without, as "probe|package[ or another name for it…]".
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
)
# What makes it better: oneDNN's CPU kernels, faster rebuilds.
readonly optional=(
  'header oneapi/dnnl/dnnl.hpp|libdnnl-dev libonednn-dev'
  'program ccache|ccache'
)
readonly clang_format_major=14  # the version the tree is formatted with; others differ in details
# What some tests want beyond a build, and skip without.
readonly for_tests=(
  'program zsh|zsh'
  'program mandoc|mandoc'
  'program doxygen|doxygen'
  'program dpkg-shlibdeps|dpkg-dev'
  'program pkg-config|pkgconf pkg-config'
  'program python3|python3'
  "program clang-format-$clang_format_major|clang-format-$clang_format_major"
)

has_program() {
  command -v "$1" >/dev/null 2>&1
}

has_compiler() {
  has_program "${CXX:-$1}"
}

# By the compiler's own search path, so that a header in /usr/local or CPATH counts.
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

required_is_present() {
  local entry
  for entry in "${required[@]}"; do
    present "$entry" || return 1
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    printf '+ %s\n' "$*"
    "$@"
  elif has_program sudo; then
    local sudo=(sudo)
    [ -t 0 ] || sudo+=(-n)  # nobody there to type a password: fail with sudo's own words
    printf '+ %s %s\n' "${sudo[*]}" "$*"
    "${sudo[@]}" "$@"
  else
    die "not root and no sudo: run as root: $*"
  fi
}

apt_updated=no
apt_update() {
  [ "$apt_updated" = no ] || return 1
  apt_updated=yes
  as_root apt-get update || say 'apt-get update failed: going on with the package lists there are'
}

apt_knows() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -E "^  Candidate: [0-9]" >/dev/null
}

# Prints the first of the names that apt knows.
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
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  as_root "${install[@]}" && return 0
  # The lists may be older than the archive: once with fresh ones.
  apt_update && as_root "${install[@]}"
}

# install_missing required|optional "probe|packages"…: what is missing of them.
install_missing() {
  local how=$1 entry name names=() wanted=()
  shift
  for entry in "$@"; do
    present "$entry" || wanted+=("$entry")
  done
  [ "${#wanted[@]}" -gt 0 ] || return 0
  if ! has_program apt-get; then
    [ "$how" = optional ] && return 0
    die "missing: ${wanted[*]%%|*}; there is no apt-get here, so install the equivalents of these Debian packages: ${wanted[*]#*|}"
  fi
  for entry in "${wanted[@]}"; do
    local -a candidates
    read -ra candidates <<<"${entry#*|}"
    if name=$(apt_name "${candidates[@]}") || { apt_update && name=$(apt_name "${candidates[@]}"); }; then
      names+=("$name")
    elif [ "$how" = optional ]; then
      say "optional, and not in this machine's package lists: ${candidates[0]}"
    else
      die "apt knows no package ${candidates[*]}; is the archive's main (Ubuntu: universe) component enabled, and the network there?"
    fi
  done
  [ "${#names[@]}" -gt 0 ] || return 0
  say "installing ($how): ${names[*]}"
  if ! apt_install "${names[@]}"; then
    [ "$how" = optional ] || die "apt-get could not install: ${names[*]} (its own words are above)"
    say "optional, and could not be installed: ${names[*]}"
  fi
}
