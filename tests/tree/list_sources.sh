# shellcheck shell=bash
# Sourced: list_sources FOLDER… -- ENDING… prints the files below the folders whose names end so, relative to the root,
# sorted: list_sources framework layers -- cu cuh. A folder that is not there has none.

list_sources() {
  local folders=() names=() ending
  while [ "$1" != -- ]; do
    [ -d "$1" ] && folders+=("$1")
    shift
  done
  shift
  for ending in "$@"; do names+=(-o -name "*.$ending"); done
  [ "${#folders[@]}" -eq 0 ] || find "${folders[@]}" -type f \( "${names[@]:1}" \) | sort
}
