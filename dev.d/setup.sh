# shellcheck shell=bash
# ./dev setup

readonly cmake_minimum=3.24

cmake_version() {
  cmake --version 2>/dev/null | sed -n '1s/^cmake version //p'
}

cmake_is_new_enough() {
  [ "$(printf '%s\n' "$cmake_minimum" "$(cmake_version)" | sort -V | sed -n 1p)" = "$cmake_minimum" ]
}

# Ubuntu 22.04 has CMake 3.22: pip installs a newer one into build/tools, which only ./dev uses.
check_cmake() {
  ! cmake_is_new_enough || return 0
  local found
  found=$(cmake_version)
  PATH=$root/build/tools/bin:$PATH
  export PATH
  hash -r
  ! cmake_is_new_enough || return 0
  say "CMake $cmake_minimum or newer is needed, found ${found:-none}: installing one with pip into build/tools"
  install_missing required 'program python3|python3' 'python_module ensurepip|python3-venv'
  if ! logged python3 -m venv --clear build/tools ||
    ! logged build/tools/bin/pip --disable-pip-version-check install "cmake>=$cmake_minimum,<4"; then
    log_die "pip could not install CMake: install $cmake_minimum or newer and put it on PATH"
  fi
  hash -r
  cmake_is_new_enough || die "CMake $cmake_minimum or newer is needed, found $(cmake_version) in build/tools"
}

# set_up "probe|packages"…: installs what a build requires, and these optional packages.
set_up() {
  install_missing required "${required[@]}" -- "$@"
  install_missing optional "$@"
  all_present "${required[@]}" ||
    die 'packages are installed, but the compiler does not find all their headers: check CXX and CPATH'
  check_cmake
  local entry names
  for entry in "${optional[@]}"; do
    names=${entry#*|}
    present "$entry" || say "continuing without ${names%% *}, which is optional"
  done
  say 'all packages that a build needs are installed'
}

cmd_setup() {
  local more=("${optional[@]}" "${for_rebuilds[@]}") testing=() apps=no
  while [ "$#" -gt 0 ]; do
    case $1 in
      --minimal) more=() ;;
      --tests) testing=("${for_tests[@]}") ;;
      --apps) apps=yes ;;
      *) usage_error "setup: unknown option '$1'" ;;
    esac
    shift
  done
  set_up "${more[@]}" "${testing[@]}"
  [ "$apps" = no ] || setup_apps
}

# setup_if_needed [--tests]
setup_if_needed() {
  local wanted=("${required[@]}")
  [ "${1:-}" != --tests ] || wanted+=("${for_tests[@]}")
  if all_present "${wanted[@]}"; then
    check_cmake
  elif [ "${1:-}" = --tests ]; then
    cmd_setup --tests
  else
    set_up "${optional[@]}"
  fi
}
