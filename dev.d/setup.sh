# shellcheck shell=bash
# ./dev setup

readonly cmake_minimum=3.24

check_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/^cmake version //p')
  [ "$(printf '%s\n' "$cmake_minimum" "$version" | sort -V | sed -n 1p)" = "$cmake_minimum" ] ||
    die "CMake $cmake_minimum or newer is needed, found $version: a newer one comes with 'pip install cmake' or from apt.kitware.com"
}

cmd_setup() {
  local minimal=no tests=no
  while [ "$#" -gt 0 ]; do
    case $1 in
      --minimal) minimal=yes ;;
      --tests) tests=yes ;;
      *) usage_error "setup does not know '$1'" ;;
    esac
    shift
  done
  install_missing required "${required[@]}"
  [ "$minimal" = yes ] || install_missing optional "${optional[@]}"
  [ "$tests" = no ] || install_missing optional "${for_tests[@]}"
  all_present "${required[@]}" || die 'packages are installed, but the compiler does not find all their headers: is CXX or CPATH set?'
  check_cmake
  local entry names
  for entry in "${optional[@]}"; do
    names=${entry#*|}
    present "$entry" || say "going on without ${names%% *}, which is optional"
  done
  say 'everything that a build needs is installed'
}

# setup_if_needed [--tests]
setup_if_needed() {
  local wanted=("${required[@]}")
  [ "${1:-}" != --tests ] || wanted+=("${for_tests[@]}")
  if all_present "${wanted[@]}"; then
    check_cmake
  else
    cmd_setup "$@"
  fi
}
