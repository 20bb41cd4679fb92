#!/usr/bin/env bash
# Every header compiles alone, as a generated translation unit of its own (included twice), warnings as errors.
#   check_headers_alone.sh ROOT GENERATED_DIR CXX [CUDA_INCLUDE_DIR|-] [HEADER…]
# Without a CUDA include folder ("-") internal headers that include CUDA's are left out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$1 generated=$2 cxx=$3 cuda=${4:--}
shift $(($# < 4 ? $# : 4))
cd "$root"
# shellcheck source=tests/tree/list_headers.sh
. "$here/list_headers.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$#" -gt 0 ]; then
  printf '%s\n' "$@" >"$work/headers"
elif [ "$cuda" = - ]; then
  { all_headers; headers_with_cuda; } | sort | uniq -u >"$work/headers"
else
  all_headers >"$work/headers"
fi
[ -s "$work/headers" ] || { echo 'no headers found: wrong folder?' >&2; exit 1; }

flags=(-std=c++17 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror -fsyntax-only -I "$root" -I "$generated")
[ "$cuda" = - ] || flags+=(-isystem "$cuda")
while read -r header; do
  unit=$work/${header//\//_}.cpp
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$unit"
  printf '%s\n' "$unit"
done <"$work/headers" >"$work/units"
xargs -P "$(nproc)" -n 1 "$cxx" "${flags[@]}" <"$work/units" ||
  { echo 'a header does not compile alone (above): add the includes that it needs' >&2; exit 1; }
printf '%d headers compile alone\n' "$(wc -l <"$work/headers")"
