#!/usr/bin/env bash
# liblenslet.so exports exactly the functions that lenslet.h declares, under its SONAME.
#   exports_test.sh LIBRARY HEADER SONAME
set -euo pipefail
library=$1 header=$2 soname=$3
fail() {
  printf 'exports_test: %s\n' "$*" >&2
  exit 1
}
declared=$(tr '\n' ' ' <"$header" | grep -oE 'LENSLET_API [^;(]+\(' |
  grep -oE 'lenslet_[a-z0-9_]+\(' | tr -d '(' | sort)
[ "$(wc -l <<<"$declared")" -ge 15 ] || fail "only these declarations were found in $header: $declared"
# The name of the version is an absolute symbol.
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
difference=$(diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported") | grep '^[<>]' || true)
[ -z "$difference" ] || fail "declared (<) and exported (>) differ: $difference"
nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@LENSLET_0$/ { print $3; found = 1 } END { exit found }' ||
  fail 'a symbol is exported without the version LENSLET_0'
found=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]$/\1/p')
[ "$found" = "$soname" ] || fail "the SONAME is '$found', expected '$soname'"
[ "$(basename "$(readlink -f "$library")")" != "$soname" ] ||
  fail "$library is no link to a file with the whole version"
# Modules open the vendors' libraries: the library itself does not link them.
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]$/\1/p')
! grep -E 'cuda|cudnn|cublas|dnnl' <<<"$needed" || fail 'the library is linked to a vendor library'
printf '%s functions, SONAME %s, needs: %s\n' "$(wc -l <<<"$exported")" "$found" "$(tr '\n' ' ' <<<"$needed")"
