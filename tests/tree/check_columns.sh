#!/usr/bin/env bash
# No line of C, C++ or CUDA is longer than 120 characters. clang-format breaks code at 110; comments are their author's to break.
#   check_columns.sh ROOT
set -euo pipefail
cd "$1"
mapfile -t sources < <(find framework layers models api apps python tests weights -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.c' -o -name '*.inc' \) 2>/dev/null | sort)
[ "${#sources[@]}" -gt 0 ] || { echo 'no sources found: wrong folder?' >&2; exit 1; }
# Characters, not bytes, whatever the caller's locale.
if LC_ALL=C.UTF-8 grep -nE '^.{121,}$' "${sources[@]}" /dev/null; then
  echo '^ longer than 120 columns: break the line' >&2
  exit 1
fi
printf 'no line of %d files is longer than 120 columns\n' "${#sources[@]}"
