#!/usr/bin/env bash
# Only a release of the CPU side without a compiler launcher, in which warnings are no errors, precompiles headers and
# joins sources by itself. The sources of a unit compile together. Kernels, sources of a module and those with options
# of their own are compiled alone, without a precompiled header if they have options.
#   check_first_build.sh ROOT GENERATED_DIR [TARGET…]
# GENERATED_DIR has what a build generates. The units of TARGETs are compiled, which takes minutes for both programs.
# The builds of `.ci/run --sanitizers` compile all units.
set -euo pipefail
root=$(realpath "$1") generated=$(realpath "$2")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_CXX_COMPILER_LAUNCHER
# configure EXPECTED CMAKE OPTIONS…: EXPECTED is yes or no.
configure() {
  local expected=$1 words found
  shift
  rm -rf "$work/build"
  cmake -S "$root" -B "$work/build" -G Ninja -DLENSLET_CUDA=OFF -DLENSLET_BUILD_TESTS=OFF -DLENSLET_MPI=OFF \
    -DLENSLET_INSTALL=OFF "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  for words in cmake_pch /Unity/unity_; do
    found=no
    ! grep -q "$words" "$work/build/build.ninja" || found=yes
    [ "$found" = "$expected" ] || { echo "with $*: $words: expected $expected, found $found" >&2; exit 1; }
  done
}
configure no -DCMAKE_CXX_COMPILER_LAUNCHER=env
configure no -DLENSLET_SANITIZE=address
configure no -DCMAKE_BUILD_TYPE=Debug
configure no -DLENSLET_WERROR=ON
configure no -DLENSLET_FAST_FIRST_BUILD=OFF
configure yes
ninja -C "$work/build" -t commands lenslet_programs | grep -e ' -c ' >"$work/commands"
# Every source that must stay alone is compiled by a command of its own.
grep -v -e '/Unity/' "$work/commands" | grep -o ' -c .*' | sed 's/^ -c //' >"$work/alone"
for source in apps/common/program/report_command.cpp apps/lenslet/eval/eval.cpp \
  framework/device/device_memory.cpp framework/graph/module.cpp \
  layers/conv/cpu/direct.cpp layers/pool/cpu/max_pool_part.cpp layers/relu/cpu/direct.cpp; do
  grep -q "/$source\$" "$work/alone" || { echo "$source is compiled with other sources" >&2; exit 1; }
done
if find "$work/build" -path '*/Unity/*.cxx' -exec grep -H '/cpu/' {} + >&2; then
  echo 'a kernel is compiled with other sources' >&2
  exit 1
fi
for source in apps/lenslet/eval/eval.cpp layers/conv/cpu/direct.cpp layers/conv/cpu/onednn.cpp; do
  if grep "/$source\$" "$work/commands" | grep cmake_pch; then
    echo "$source has options of its own, but is compiled with a precompiled header" >&2
    exit 1
  fi
done
unit=$(grep -rl '/framework/io/idx.cpp"' "$work/build" --include='unity_*.cxx') ||
  { echo 'framework/io/idx.cpp is compiled without other sources' >&2; exit 1; }
grep "/${unit##*/}\$" "$work/commands" | grep 'lenslet_precompiled.dir/cmake_pch' >/dev/null ||
  { echo 'framework/io/idx.cpp is compiled without the precompiled header' >&2; exit 1; }
if cmake -S "$root" -B "$work/build" -DLENSLET_FAST_FIRST_BUILD=perhaps >"$work/log" 2>&1 ||
  ! grep -q "must be AUTO, ON or OFF, found 'perhaps'" "$work/log"; then
  echo 'LENSLET_FAST_FIRST_BUILD=perhaps was not refused' >&2
  exit 1
fi

if [ "$#" -eq 0 ]; then
  echo 'only a release of the CPU side without a launcher has units'
  exit 0
fi
# Parsed, not compiled: what collides in a unit is an error of the first pass. Embedded files define nothing else.
ninja -C "$work/build" -t commands "$@" | grep -e ' -c .*/Unity/unity_' |
  grep -v -e 'unity_generated_embedded' -e '/lenslet_weights.dir/' |
  sed "s| -o [^ ]* -c | -fsyntax-only -I '$generated' |; s| -MD -MT [^ ]* -MF [^ ]*||" >"$work/units"
[ -s "$work/units" ] || { echo "no units found in $*: other names of CMake's?" >&2; exit 1; }
(cd "$work/build" && tr '\n' '\0' <"$work/units" | xargs -0 -P "$(nproc)" -I @ bash -c @) || {
  echo 'sources do not compile as one unit (above): within a folder names must differ, or set' \
    'SKIP_UNITY_BUILD_INCLUSION for one (cmake/LensletFirstBuild.cmake)' >&2
  exit 1
}
printf '%d units compile; only a release of the CPU side without a launcher has them\n' "$(wc -l <"$work/units")"
