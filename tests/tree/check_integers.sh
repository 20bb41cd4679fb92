#!/usr/bin/env bash
# No parameter list of host code has more than three plain integers: a caller could swap two of them unnoticed. Shape,
# WindowDirection or a struct of its own names them. Kernels, pointers to them and device functions are exempt, where a
# struct may cost registers, and so are template arguments, which the table of a file's variants lists in one order.
#   check_integers.sh ROOT
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_sources.sh
. "$here/list_sources.sh"

mapfile -t sources < <(list_sources framework layers models weights api apps python -- h cpp cu cuh)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

# text[d] is the code at depth d of parentheses, from the last statement on; line[d] the line where it began.
awk '
  function integers(list,    part, count, n, i) {
    n = split(list, part, ",")
    for (i = 1; i <= n; ++i) count += (part[i] ~ integer)
    return count
  }
  BEGIN {
    type = "(std::)?(int|unsigned( int)?|(unsigned )?(short|long( long)?)|size_t|ptrdiff_t|u?int(8|16|32|64)_t)"
    integer = "^[ \t]*(const[ \t]+)?" type "([ \t]+const)?([ \t]+[A-Za-z_][A-Za-z0-9_]*)?[ \t]*(=.*)?$"
  }
  FNR == 1 { depth = 0; text[0] = "" }
  {
    code = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
    gsub(/\047([^\047\\]|\\.)\047/, "0", code)
    sub(/\/\/.*/, "", code)
    gsub(/\/\*[^*]*\*\//, "", code)
    while (match(code, /[()]/)) {
      text[depth] = text[depth] substr(code, 1, RSTART - 1)
      found = substr(code, RSTART, 1)
      code = substr(code, RSTART + 1)
      if (found == "(") {
        sub(/.*[;{}]/, "", text[depth])
        text[++depth] = ""
        line[depth] = FNR
        lists++
      } else if (depth > 0) {
        list = text[depth--]
        pointer = FILENAME ~ /\.cuh?$/ && text[depth] ~ /\(\)[ \t]*$/  # void (*)(…)
        if (integers(list) > 3 && text[depth] !~ /__(device|global)__/ && !pointer) {
          name = text[depth]
          sub(/[ \t]+$/, "", name)
          sub(/.*[^A-Za-z0-9_~:]/, "", name)
          printf "%s:%d: %s(…) takes %d integers by position, at most three are allowed: ",
                 FILENAME, line[depth + 1], name, integers(list)
          print "pass a struct that names them"
          failed = 1
        }
        text[depth] = text[depth] "()"
      }
    }
    text[depth] = text[depth] code " "
  }
  END {
    if (failed) exit 1
    if (lists == 0) { print "no parameter list found: is the pattern right?"; exit 1 }
    printf "%d lists have at most three integers\n", lists
  }
' "${sources[@]}"
