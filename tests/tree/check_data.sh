#!/usr/bin/env bash
# No data set in the tree: no tracked file is IDX by content (plain or gzipped) or by name, none exceeds 4 MiB,
# a report of docs/results 8 MiB.
#   check_data.sh ROOT
# Outside a git checkout it checks every file except build and data folders.
set -euo pipefail
cd "$1"

files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ -n "$(git ls-files | head -n 1)" ]; then
    git ls-files -z
  else
    find . \( -path ./build -o -path ./data -o -path ./.git \) -prune -o -type f -print0
  fi
}

# Few files begin with a zero or are gzipped: the others need no program, which would take seconds for a thousand files.
may_be_idx() {
  local before=x
  case $1 in *.gz) return 0 ;; esac
  IFS= read -r -d '' -n 1 before <"$1" && [ -z "$before" ]
}

# 00 00, the type of unsigned bytes 08, one to four dimensions.
is_idx() {
  local head
  head=$({ case $1 in *.gz) gzip -dc "$1" 2>/dev/null ;; *) cat "$1" ;; esac || true; } | head -c 4 | od -An -tx1)
  case $head in
    ' 00 00 08 0'[1-4]) return 0 ;;
  esac
  return 1
}

found=0 seen=0
complain() {
  printf '%s: %s; data sets stay out of the tree\n' "$1" "$2" >&2
  found=1
}
while IFS= read -r -d '' file; do
  [ -f "$file" ] || continue
  seen=$((seen + 1))
  case $file in
    *-idx[13]-ubyte* | *.idx[13]-ubyte*) complain "$file" 'named like an IDX file' ;;
    *) if may_be_idx "$file" && is_idx "$file"; then complain "$file" 'an IDX file by its bytes'; fi ;;
  esac
done < <(files)
while IFS= read -r file; do
  complain "$file" 'larger than 4 MiB (a report: 8)'
done < <(files | xargs -0 -r stat -c '%s %n' 2>/dev/null |
  awk '$1 > (/docs\/results\/[^\/]*\/report\.html$/ ? 8 : 4) * 1048576 { sub(/^[0-9]+ /, ""); print }')
[ "$seen" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }
[ "$found" -eq 0 ] || exit 1
printf '%d files, no data set among them\n' "$seen"
