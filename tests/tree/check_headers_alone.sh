#!/usr/bin/env bash
# Every header compiles alone: as a generated translation unit that includes it twice, with warnings as errors.
#   check_headers_alone.sh ROOT GENERATED_DIR CXX [CUDA_INCLUDE_DIR|-] [HEADER…]
# A header that includes a vendor's header is left out if that is not installed. "-": no CUDA toolkit.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$1 generated=$2 cxx=$3 cuda=${4:--}
shift $(($# < 4 ? $# : 4))
cd "$root"
# shellcheck source=tests/tree/list_headers.sh
. "$here/list_headers.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$#" -gt 0 ]; then printf '%s\n' "$@"; else all_headers; fi >"$work/headers"
[ -s "$work/headers" ] || { echo 'no headers found: wrong folder?' >&2; exit 1; }

flags=(-std=c++17 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror -I "$root" -I "$generated")
[ "$cuda" = - ] || flags+=(-isystem "$cuda")

# Whether the vendors' headers that this header includes are installed.
vendors_are_here() {
  if ! grep -q -F "$1"$'\t' "$work/vendors"; then return 0; fi
  awk -F '\t' -v header="$1" '$1 == header { printf "#if !__has_include(<%s>)\n#error\n#endif\n", $2 }' \
    "$work/vendors" | "$cxx" "${flags[@]}" -fsyntax-only -x c++ - 2>/dev/null
}

mapfile -t headers <"$work/headers"
vendor_includes "${headers[@]}" >"$work/vendors"
while read -r header; do
  vendors_are_here "$header" || continue
  unit=${header//\//_}
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$work/$unit.cpp"
  printf '%s\n' "$unit"
done <"$work/headers" >"$work/units"
# Compiled, not only parsed, and under names that do not change: the compiler cache then has the units of the last run.
launcher=()
if command -v ccache >/dev/null; then launcher=(ccache); fi
(cd "$work" && xargs -P "$(nproc)" -I @ "${launcher[@]}" "$cxx" "${flags[@]}" -c @.cpp -o @.o <units) ||
  { echo 'a header does not compile alone (above): add the includes that it needs' >&2; exit 1; }
printf '%d headers compile alone\n' "$(wc -l <"$work/units")"
