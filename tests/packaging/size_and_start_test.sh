#!/usr/bin/env bash
# The size of a program, its start-up time, and that it contains no kernel that it cannot use.
#   size_and_start_test.sh LENSLET CONVBENCH LIBLENSLET MAX_MB PICTURE CMAKE
# Times are the smallest processor time of 40 runs, because a busy machine only lengthens runs. The project's bounds are
# 3 ms for --version and 15 ms for one picture; the clock's resolution of 1 ms, for user and for system time, may add 1
# ms. A slow machine gets more, in proportion to its time for `cmake --version`. Measured on 2 cores of an AMD EPYC with
# a load of 13: CMake 10 ms, --version 3 to 4 ms, a picture 5 ms.
set -euo pipefail
lenslet=$1 convbench=$2 library=$3 max_mb=$4 picture=$5 cmake=$6
failures=0
bad() {
  printf '%s\n' "$*" >&2
  failures=$((failures + 1))
}

for file in "$lenslet" "$convbench" "$library"; do
  bytes=$(stat -L -c %s "$file")
  printf '%s: %d.%d MB, at most %d\n' "${file##*/}" $((bytes / 1000000)) $((bytes / 100000 % 10)) "$max_mb"
  [ "$bytes" -le $((max_mb * 1000000)) ] || bad "${file##*/} is larger than $max_mb MB"
done

# Slower versions of the ladders and kernels of the studies belong to convbench only.
for file in "$lenslet" "$library"; do
  foreign=$(nm -C "$file" | grep -iE 'ladder|rung_|gemm_study|stencil' | head -n 3 || true)
  [ -z "$foreign" ] || bad "${file##*/} has kernels of ladders or studies: $foreign"
done

# fastest COMMAND…: user plus system time of the shortest of 40 runs, in tenths of a millisecond.
fastest() {
  "$@" >/dev/null || bad "$* failed"
  local min_spent=1000000 spent i TIMEFORMAT='%3U %3S'
  for ((i = 0; i < 40; ++i)); do
    spent=$( { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print int(($1 + $2) * 10000 + 0.5) }')
    [ "$spent" -ge "$min_spent" ] || min_spent=$spent
  done
  echo "$min_spent"
}
# quick WHAT LIMIT PERCENT COMMAND…: limit in tenths of a millisecond, or in percent of CMake's start if that is more.
# Up to five times, each together with CMake's start: the machine may have become busier since that was measured.
quick() {
  local what=$1 min_limit=$2 percent=$3 limit spent round
  shift 3
  for ((round = 0; round < 5; ++round)); do
    [ "$round" -eq 0 ] || cmakes=$(fastest "$cmake" --version)
    limit=$((percent * cmakes / 100))
    [ "$limit" -ge "$min_limit" ] || limit=$min_limit
    spent=$(fastest "$@")
    printf '%s: %d.%d ms, at most %d.%d\n' "$what" $((spent / 10)) $((spent % 10)) $((limit / 10)) $((limit % 10))
    [ "$spent" -gt "$limit" ] || return 0
  done
  bad "$what takes longer than $((limit / 10)).$((limit % 10)) ms"
}
cmakes=$(fastest "$cmake" --version)
quick 'lenslet --version' 40 60 "$lenslet" --version
quick 'convbench --version' 40 60 "$convbench" --version
quick 'one picture read on the CPU' 150 150 "$lenslet" classify --device cpu "$picture"
[ "$failures" -eq 0 ] || exit 1
