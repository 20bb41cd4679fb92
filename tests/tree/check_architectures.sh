#!/usr/bin/env bash
# A build for several CUDA architectures, as made without a GPU, compiles and lists its architectures: the list in a
# definition must not be split.
#   check_architectures.sh ROOT NVCC
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$1" -B "$work" -G Ninja -DLENSLET_CUDA=ON -DCMAKE_CUDA_COMPILER="$2" \
  '-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real' \
  -DCMAKE_BUILD_TYPE=Debug -DLENSLET_BUILD_TESTS=OFF -DLENSLET_BUILD_APPS=OFF >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
object=framework/CMakeFiles/lenslet_framework.dir/device/runtime_cuda.cpp.o
cmake --build "$work" --target "$object" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q '80-real,90-real' "$work/$object" || { echo 'the build does not list its architectures' >&2; exit 1; }
echo 'a build for two architectures lists both'
