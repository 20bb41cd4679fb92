#!/usr/bin/env bash
# docs/environment.md lists every environment variable LENSLET_* that C++, Python or shell code reads, and no other.
#   check_environment.sh ROOT
set -euo pipefail
cd "$1"
page=docs/environment.md

# In C and C++ a variable is a separate string literal; macros and words in messages are not.
read_by_code=$({
  grep -rhoE '"LENSLET_[A-Z_]+"' --include='*.cpp' --include='*.h' --include='*.cu' --include='*.cuh' --include='*.c' \
    framework layers models api apps python tests | tr -d '"'
  grep -rhoE "environ(\.get\(|\[)['\"]LENSLET_[A-Z_]+" --include='*.py' apps docs python tests weights |
    grep -oE 'LENSLET_[A-Z_]+'
  grep -hoE '[$][{]?LENSLET_[A-Z_]+' dev dev.d/*.sh .ci/run | grep -oE 'LENSLET_[A-Z_]+'
} | sort -u)

# The first column of the tables.
listed=$(sed -nE 's/^\| (`LENSLET_[^|]*) \|.*/\1/p' "$page" | grep -oE 'LENSLET_[A-Z_]+' | sort)
found=0
complain() {
  while read -r variable; do
    printf '%s: %s %s\n' "$page" "$variable" "$1" >&2
    found=1
  done
}
complain 'is read by the code and is missing here' < <(comm -23 <(cat <<<"$read_by_code") <(sort -u <<<"$listed"))
complain 'is listed here and no code reads it' < <(comm -13 <(cat <<<"$read_by_code") <(sort -u <<<"$listed"))
complain 'is listed twice' < <(uniq -d <<<"$listed")
[ "$found" -eq 0 ] || exit 1
printf '%d environment variables are listed\n' "$(wc -l <<<"$read_by_code")"
