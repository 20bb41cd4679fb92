#!/usr/bin/env bash
# The subjects of the commits since BASE have fewer than 72 characters. Merges are left out: git or a host writes those.
#   check_commits.sh ROOT BASE
set -euo pipefail
cd "$1"
export LC_ALL=C.UTF-8
readonly limit=72

# A failure of git ends the check: it would read no subject.
log=$(git log --no-merges --format='%h %s' "$2..HEAD")
found=0 count=0
while read -r commit subject; do
  count=$((count + 1))
  if [ "${#subject}" -ge "$limit" ]; then
    printf '%s: a subject of %d characters, expected fewer than %d: %s\n' "$commit" "${#subject}" "$limit" "$subject"
    found=1
  fi
done < <(if [ -n "$log" ]; then printf '%s\n' "$log"; fi)
[ "$found" -eq 0 ] || exit 1
printf 'the subjects of %d commits are short\n' "$count"
