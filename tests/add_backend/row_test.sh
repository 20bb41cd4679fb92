#!/usr/bin/env bash
# Rows whose file does not make the backend of that name end in an error of CMake that tells both names. A folder
# without CUTLASS ends in one too, and so does a build that cannot use it. A row adds the sources of its own folder, and
# VECTOR declares vector code.
#   row_test.sh ROOT CMAKE
set -euo pipefail
root=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/layers/conv/cpu"
cat >"$work/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.24)
project(rows LANGUAGES NONE)
include($root/cmake/LensletBackend.cmake)
include($root/cmake/LensletCutlass.cmake)
add_subdirectory(layers/conv)
PROJECT

# row ROW CONTENT PATTERN: configures with that row and that file fancy.cpp. PATTERN is in the error; empty: no error.
row() {
  local status=0
  printf '%s\n' "$1" >"$work/layers/conv/CMakeLists.txt"
  printf '%s\n' "$2" >"$work/layers/conv/cpu/fancy.cpp"
  "$cmake" -S "$work" -B "$work/build" >"$work/log" 2>&1 || status=$?
  # CMake breaks long lines.
  if [ -z "$3" ]; then
    [ "$status" -eq 0 ] && return
  elif [ "$status" -ne 0 ] && tr -s ' \n' ' ' <"$work/log" | grep -F -e "$3" >/dev/null; then
    return
  fi
  cat "$work/log" >&2
  printf "row_test: '%s' with '%s': expected '%s'\n" "$1" "$2" "$3" >&2
  exit 1
}
row 'lenslet_backend(conv cpu fancy)' 'LENSLET_BACKEND(conv, cpu_fancy, FancyBackend())' ''
mkdir "$work/layers/conv/cpu/fancy"
touch "$work/layers/conv/cpu/fancy/more.cpp"
# shellcheck disable=SC2016  # CMake expands it
row 'lenslet_backend(conv cpu fancy)
get_property(sources GLOBAL PROPERTY LENSLET_conv_SOURCES)
if(NOT cpu/fancy/more.cpp IN_LIST sources)
  message(FATAL_ERROR "the row has not added the sources of its folder, found ${sources}")
endif()' 'LENSLET_BACKEND(conv, cpu_fancy, FancyBackend())' ''
# shellcheck disable=SC2016
row 'function(lenslet_kernel_sources)
  set_property(GLOBAL APPEND PROPERTY kernel_sources "${ARGN}")
endfunction()
lenslet_backend(conv cpu fancy)
lenslet_backend(conv cpu fancy VECTOR)
lenslet_backend(conv cpu fancy VECTOR CHOOSES)
get_property(found GLOBAL PROPERTY kernel_sources)
if(NOT found STREQUAL "cpu/fancy.cpp;cpu/fancy.cpp;CHOOSES")
  message(FATAL_ERROR "rows with and without VECTOR and CHOOSES declare other vector code: ${found}")
endif()' 'LENSLET_BACKEND(conv, cpu_fancy, FancyBackend())' ''
row 'lenslet_backend(conv cpu fancy)' 'LENSLET_BACKEND(conv, cpu_fanci, FancyBackend())' \
  'layers/conv/cpu/fancy.cpp must have LENSLET_BACKEND(conv, cpu_fancy, …), found LENSLET_BACKEND(conv, cpu_fanci,'
row 'lenslet_backend(conv cpu fancy)' 'LENSLET_BACKEND(pool, cpu_fancy, FancyBackend())' \
  'found LENSLET_BACKEND(pool, cpu_fancy,'
row 'lenslet_backend(conv cpu fancy)' '// nothing' 'found no LENSLET_BACKEND'
row 'lenslet_backend(conv cpu fanci)' '' 'lenslet_backend(conv cpu fanci): there is no layers/conv/cpu/fanci.cpp'
row $'set(LENSLET_CUTLASS "")\nlenslet_cutlass_backend()' '' ''
row $'set(LENSLET_CUTLASS /nowhere)\nlenslet_cutlass_backend()' '' \
  'LENSLET_CUTLASS adds convolutions for compute capability 9.0'
hopper=$'set(LENSLET_HAS_CUDA ON)\nset(CMAKE_CUDA_ARCHITECTURES 90-real)\nset(CMAKE_CUDA_COMPILER_VERSION 13.0)\n'
row "$hopper"$'set(LENSLET_CUTLASS /nowhere)\nlenslet_cutlass_backend()' '' \
  'there is no /nowhere/include/cutlass/conv/kernel/conv_universal.hpp'
printf 'rows of backends: the right ones are accepted with their folder and vector code, four misspelt ones are named\n'
printf 'CUTLASS is optional, and looked for where it is asked for\n'
