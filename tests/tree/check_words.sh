#!/usr/bin/env bash
# framework/ serves any layer, any model and any caller: its code names no kind of layer, no model and no classifier's
# answer, and its texts name no option of a command line. Comments may give examples, and a file's key may be any word.
#   check_words.sh ROOT
set -euo pipefail
cd "$1"

# The one exception is arithmetic that keeps NaN, which host code and kernels share.
mapfile -t sources < <(find framework -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) \
  ! -name keep_nan.h | sort)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

awk '
  function refuse(what) {
    printf "%s:%d: framework/ names %s: %s\n", FILENAME, FNR, what, $0
    failed = 1
  }
  {
    code = $0
    sub(/(^|[^:])\/\/.*/, "", code)
    if (tolower(code) ~ /relu|softmax|conv2d|winograd|lenet|(max|avg)_?pool|pool2d/)
      refuse("a kind of layer or a model")
    for (texts = ""; match(code, /"([^"\\]|\\.)*"/); code = substr(code, 1, RSTART - 1) substr(code, RSTART + RLENGTH))
      texts = texts substr(code, RSTART, RLENGTH)
    if (tolower(code) ~ /predict|logit/) refuse("the answer of a classifier")
    if (texts ~ /--[a-z]/) refuse("an option of a command line")
  }
  END {
    if (failed) exit 1
    printf "%d files of framework/ name no layer, no model, no answer and no option\n", ARGC - 1
  }
' "${sources[@]}"
