#!/usr/bin/env bash
# Every header compiles alone: as a generated translation unit that includes it twice, with warnings as errors.
#   check_headers_alone.sh ROOT GENERATED_DIR CXX [CUDA_INCLUDE_DIR|-] [HEADER…]
# A header that includes a vendor's header is left out if that is not installed. "-": no CUDA toolkit.
# Without HEADERs a header is not compiled again if the build in GENERATED_DIR/.. has compiled it alone, as the first
# include of a source, with these warnings as errors, and it has `#pragma once`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$1") generated=$2 cxx=$3 cuda=${4:--}
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

# Prints the headers that the build compiled alone. CMake writes a key a line. A command counts if it has these flags,
# no precompiled header, and no definition but NDEBUG, since another may hide a part of the header. Its object counts if
# it is newer than source and header.
compiled_by_build() {
  local build object source header
  build=$(realpath "$generated/..") || return 0
  [ -e "$build/compile_commands.json" ] || return 0
  awk -v "flags=-std=c++17 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror" '
    BEGIN { needed = split(flags, flag, " ") }
    /^  "command": / {
      sub(/^  "command": "/, "")
      sub(/",$/, "")
      line = " " $0 " "
      sub(/ -DNDEBUG /, " ", line)
      if (line ~ / -(include|D)/) next
      for (i = 1; i <= needed; ++i) if (index(line, " " flag[i] " ") == 0) next
      for (i = 1; i < NF; ++i) if ($i == "-o") object = $(i + 1)
      if ($(NF - 1) == "-c" && $NF ~ /\.cpp$/) print object "\t" $NF
    }' "$build/compile_commands.json" |
    while IFS=$'\t' read -r object source; do
      header=$(sed -n '/^[[:space:]]*#/ { s/^#include "\([^"]*\)"$/\1/p; q }' "$source")
      [[ $source == "$PWD"/* && -n $header ]] || continue
      [[ $build/$object -nt $header && $build/$object -nt $source ]] || continue
      ! grep -qx '#pragma once' "$header" || printf '%s\n' "$header"
    done
}

: >"$work/compiled"
[ "$#" -gt 0 ] || compiled_by_build >"$work/compiled"
mapfile -t headers < <(grep -vxFf "$work/compiled" "$work/headers")
built=$(($(wc -l <"$work/headers") - ${#headers[@]}))
vendor_includes "${headers[@]}" >"$work/vendors"
for header in "${headers[@]}"; do
  vendors_are_here "$header" || continue
  unit=${header//\//_}
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$work/$unit.cpp"
  printf '%s\n' "$unit"
done >"$work/units"
# Compiled, not only parsed, and under names that do not change: the compiler cache then has the units of the last run.
launcher=()
if command -v ccache >/dev/null; then launcher=(ccache); fi
(cd "$work" && xargs -P "$(nproc)" -I @ "${launcher[@]}" "$cxx" "${flags[@]}" -c @.cpp -o @.o <units) ||
  { echo 'a header does not compile alone (above): add the includes that it needs' >&2; exit 1; }
printf '%d headers compile alone, and %d did in the build\n' "$(wc -l <"$work/units")" "$built"
