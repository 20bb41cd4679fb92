# shellcheck shell=bash
# Sourced by the checks of ./dev, which set `work`: a scratch folder.
#   expect CODE PATTERN COMMAND…    the exit code, and a line of the output
# With the argument --first of the check its first failure ends it; the checks that it bites use that.

failed=0
expect() {
  local code=$1 pattern=$2 got=0
  shift 2
  "$@" >"$work/out" 2>&1 </dev/null || got=$?
  if [ "$got" -ne "$code" ] || ! grep -q -e "$pattern" "$work/out"; then
    printf 'FAILED: %s\n  expected exit %d and "%s", got exit %d and:\n' "$*" "$code" "$pattern" "$got"
    sed 's/^/  /' "$work/out"
    fail
  fi
}

fail() {
  failed=1
  [ "$first" != --first ] || exit 1
}
