#!/usr/bin/env bash
# Only a release of the CPU side without a compiler launcher, in which warnings are no errors, precompiles headers by
# itself. No object of a module or with options of its own is compiled with a precompiled header.
#   check_precompiled.sh ROOT
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_CXX_COMPILER_LAUNCHER
# configure EXPECTED CMAKE OPTIONS…: EXPECTED is yes or no.
root=$1
configure() {
  local expected=$1 found=no
  shift
  rm -rf "$work/build"
  cmake -S "$root" -B "$work/build" -G Ninja -DLENSLET_CUDA=OFF -DLENSLET_BUILD_TESTS=OFF -DLENSLET_MPI=OFF "$@" \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  ! grep -q cmake_pch "$work/build/build.ninja" || found=yes
  [ "$found" = "$expected" ] ||
    { echo "with $*: precompiled headers: expected $expected, found $found" >&2; exit 1; }
}
configure no -DCMAKE_CXX_COMPILER_LAUNCHER=env
configure no -DLENSLET_SANITIZE=address
configure no -DCMAKE_BUILD_TYPE=Debug
configure no -DLENSLET_WERROR=ON
configure no -DLENSLET_PRECOMPILED=OFF
configure yes
ninja -C "$work/build" -t commands lenslet_demo | grep -e ' -c ' >"$work/commands"
for source in apps/lenslet/eval/eval.cpp layers/conv/cpu/direct.cpp layers/conv/cpu/onednn.cpp; do
  if grep "/$source\$" "$work/commands" | grep cmake_pch; then
    echo "$source has options of its own, but is compiled with a precompiled header" >&2
    exit 1
  fi
done
grep '/framework/io/idx.cpp$' "$work/commands" | grep 'lenslet_precompiled.dir/cmake_pch' >/dev/null ||
  { echo 'framework/io/idx.cpp is compiled without the precompiled header' >&2; exit 1; }
if cmake -S "$root" -B "$work/build" -DLENSLET_PRECOMPILED=perhaps >"$work/log" 2>&1 ||
  ! grep -q "must be AUTO, ON or OFF, found 'perhaps'" "$work/log"; then
  echo 'LENSLET_PRECOMPILED=perhaps was not refused' >&2
  exit 1
fi
echo 'only a release of the CPU side without a launcher precompiles headers'
