#!/usr/bin/env bash
# Committed files are finished and portable: no reminders, no absolute path of one machine, no CR, no trailing blanks,
# no source line above 120 columns, no line of prose in a page above 140, a head; shell scripts parse, and pass the
# linter shellcheck if it is installed.
#   check_text.sh ROOT
set -euo pipefail
cd "$1"

mapfile -t sources < <(find . \
  \( -path ./build -o -path './build-*' -o -path ./data -o -path ./.git -o -path './.*/*' ! -path './.ci/*' \) \
  -prune -o   -type f -regextype posix-extended \
  -regex '.*\.(h|cpp|cu|cuh|inc|c|cmake|awk|md|sh|py|js|css)|.*/(CMakeLists\.txt|dev)|\./\.ci/run' -print | sort)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }
found=0
# complain PATTERN WHY: the pattern is written with a bracket, so that this file does not match itself.
complain() {
  if grep -nE "$1" "${sources[@]}" /dev/null; then
    printf '^ %s\n' "$2"
    found=1
  fi
}
complain '(^|[^A-Za-z_])([T]ODO|[F]IXME|[X]XX|[H]ACK)([^A-Za-z_]|$)' 'reminders belong into the tracker'
complain '(^|[^A-Za-z0-9_.])/([w]ork|[h]ome|[r]oot)/' 'a path of one machine'
complain 'LENSLET_CUDA_CHECK\([c]udaGetLastError' \
  'a launch that failed must name its kernel: LENSLET_CUDA_CHECK_LAUNCH, or ..._OF'
complain '[|] *grep( -[A-Za-z]+)* -[A-Za-z]*[q]' \
  'grep -q exits at the first match, and pipefail may then report SIGPIPE: use grep … >/dev/null'
complain '(^|[^A-Za-z_=])([Nn]obody|[Ww]hoever|[Bb]elieves|[Hh]ears)([^A-Za-z_]|$)' \
  'name the actor: code is not a person'
complain '^[[:space:]]*//+ ([O]f |[T]hat of |[T]hose |[I]ts |[T]heir |[A]t most\.)' \
  'a comment begins with its noun: "The size of all elements.", not the possessive alone'
complain '[[:space:]]$' 'blank or carriage return at the end of a line'

# A reader starts at the head: that of a header also describes the source of its name.
while read -r source; do
  [[ $source =~ \.cu$|\.cpp$ ]] && { [ -e "${source%.*}.h" ] || [ -e "${source%.*}.cuh" ]; } && continue
  printf '%s: begin with a comment that states what the file holds\n' "$source"
  found=1
done < <(printf '%s\n' "${sources[@]}" | grep -E '\.(h|c|cpp|cuh?)$' |
  xargs -r awk 'FNR == 1 && !/^\/[\/*]/ { print FILENAME }')

# Narrow enough for two files side by side. Not Markdown, whose tables have a line per row; of CMake, whose calls are
# rows, too, the comments.
mapfile -t narrow < <(printf '%s\n' "${sources[@]}" | grep -vE '\.(md|cmake)$|/CMakeLists\.txt$')
mapfile -t cmake < <(printf '%s\n' "${sources[@]}" | grep -E '\.cmake$|/CMakeLists\.txt$' || true)
if { [ "${#narrow[@]}" -gt 0 ] && LC_ALL=C.UTF-8 grep -nE '^.{121,}' "${narrow[@]}" /dev/null; } ||
  { [ "${#cmake[@]}" -gt 0 ] && LC_ALL=C.UTF-8 grep -nP '^(?=.{121})\s*#' "${cmake[@]}" /dev/null; }; then
  printf '^ a line above 120 columns\n'
  found=1
fi

# Prose of pages is wrapped for diffs and narrow windows. Not tables, which have a line per row, nor blocks of code, nor
# what a program writes between "<!-- NAME: begin -->" and "end". awk prints FILE:LINE:TEXT of the rest, and grep counts
# characters, not bytes.
mapfile -t pages < <(printf '%s\n' "${sources[@]}" | grep -E '\.md$' || true)
if [ "${#pages[@]}" -gt 0 ] && awk '
  FNR == 1 { fenced = written = 0 }
  /^[[:space:]]*```/ { fenced = !fenced; next }
  /^<!-- .*: begin -->$/ { written = 1 }
  /^<!-- .*: end -->$/ { written = 0 }
  !fenced && !written && !/^[[:space:]]*\|/ { print FILENAME ":" FNR ":" $0 }' "${pages[@]}" |
  LC_ALL=C.UTF-8 grep -E '^[^:]+:[0-9]+:.{141,}'; then
  printf '^ a line of prose above 140 columns\n'
  found=1
fi

# Files written by programs: only paths are checked.
mapfile -t results < <(find ./docs/results ./weights -type f -regextype posix-extended \
  -regex '.*\.(json|csv|txt|html|svg)' -print 2>/dev/null | sort)
if [ "${#results[@]}" -gt 0 ] &&
  grep -noE '(^|[^A-Za-z0-9_.])/([w]ork|[h]ome|[r]oot)/.{0,60}' "${results[@]}" /dev/null; then
  printf '^ a path of one machine\n'
  found=1
fi

mapfile -t scripts < <(grep -lE '^#!.*[ /](ba)?sh$' "${sources[@]}" || true)
mapfile -t sourced < <(grep -lE '^# shellcheck shell=(ba)?sh$' "${sources[@]}" || true)
for script in "${scripts[@]}" "${sourced[@]}"; do
  bash -n "$script" || found=1
done
# The slowest check comes last, and runs only if the others passed.
if ! command -v shellcheck >/dev/null 2>&1; then
  echo 'skipped: shellcheck is not installed (./dev setup --tests): scripts are parsed alone'
elif [ "$found" -eq 0 ]; then
  # Sourced files are checked together with the script: alone, their functions would seem unused.
  shellcheck -x -a -P "$1" "${scripts[@]}" || found=1
fi
[ "$found" -eq 0 ] || exit 1
printf '%d files and %d results are clean\n' "${#sources[@]}" "${#results[@]}"
