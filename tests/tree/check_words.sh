#!/usr/bin/env bash
# framework/ serves any layer and any model: its code names no kind of layer and no model. Comments may give examples.
#   check_words.sh ROOT
set -euo pipefail
cd "$1"

# The one exception is arithmetic that keeps NaN, which host code and kernels share.
mapfile -t sources < <(find framework -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) \
  ! -name keep_nan.h | sort)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

awk '
  {
    code = $0
    sub(/(^|[^:])\/\/.*/, "", code)
    if (tolower(code) ~ /relu|softmax|conv2d|winograd|lenet|(max|avg)_?pool|pool2d/) {
      printf "%s:%d: framework/ names a kind of layer or a model: %s\n", FILENAME, FNR, $0
      failed = 1
    }
  }
  END {
    if (failed) exit 1
    printf "%d files of framework/ name no layer and no model\n", ARGC - 1
  }
' "${sources[@]}"
