#!/usr/bin/env bash
# Builds programs of about twenty lines with an installation, in C and in C++, by find_package and by pkg-config; then
# moves the installation and repeats everything.
#   consumers_test.sh BUILD_DIR SOURCE_DIR CMAKE CC CXX LIBDIR
set -euo pipefail
build=$1 source=$2 cmake=$3 cc=$4 cxx=$5 libdir=$6
here=$source/tests/embedding
. "$source/tests/support/paths.sh"
unset LENSLET_MODULE_PATH LENSLET_REPORT_SCRIPT
for tool in pkg-config ninja readelf; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed (./dev setup --tests)"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  printf 'consumers_test: %s\n' "$*" >&2
  exit 1
}
# log NAME COMMAND…: prints its output only if it fails.
log() {
  local name=$1
  shift
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$name failed: $*"; }
}
# answers DIGIT PROGRAM ARGUMENT…: the first digit that it prints is DIGIT.
answers() {
  local digit=$1 said
  shift
  said=$("$@") || fail "exit code $? of: $*"
  case $said in
    "$digit "*) ;;
    *) fail "expected $digit first, found '$said' from: $*" ;;
  esac
}

sample=$source/samples/digit_7_a.png
# configure NAME: builds the consumer project NAME against the package in $prefix.
configure() {
  local name=$1
  log "configuring $name" "$cmake" -S "$here/consumers/$name" -B "$work/$stage/$name" -G Ninja \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  log "building $name" "$cmake" --build "$work/$stage/$name" --target consumer
}

check_prefix() {
  local name module
  for name in c cxx; do
    configure "$name"
    answers 7 "$work/$stage/$name/consumer" "$sample"
  done

  export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
  read -ra flags <<<"$(pkg-config --cflags --libs lenslet)"
  log 'plain cc' "$cc" "$here/consumers/c/main.c" -o "$work/$stage/plain" "${flags[@]}"
  answers 7 env LD_LIBRARY_PATH="$prefix/$libdir" "$work/$stage/plain" "$sample"
  readelf -d "$work/$stage/plain" | grep 'NEEDED.*\[liblenslet\.so\.0\]' >/dev/null ||
    fail 'the program is not linked to liblenslet.so.0'

  # The programs of the documents.
  awk -v to="$work/program" '/^```c$/ { file = to (++n) ".c"; next } /^```/ { file = "" } file { print >file }' \
    "$source/docs/embedding.md"
  for name in 1 2 3; do
    log "program $name of docs/embedding.md" "$cc" -Wall -Wextra -Werror "$work/program$name.c" \
      -o "$work/$stage/program$name" "${flags[@]}"
  done
  answers 7 env LD_LIBRARY_PATH="$prefix/$libdir" "$work/$stage/program1" "$sample"
  answers 7 env LD_LIBRARY_PATH="$prefix/$libdir" "$work/$stage/program2" "$sample"
  answers -0.37 env LD_LIBRARY_PATH="$prefix/$libdir" "$work/$stage/program3" "$source/tests/models/onnx/mean_pool.onnx"

  # The programs find modules and the report's script relative to themselves, the library its modules.
  [ ! -x "$prefix/bin/lenslet" ] || answers "$sample: 7" "$prefix/bin/lenslet" classify --device cpu "$sample"
  module=$prefix/$libdir/lenslet/lenslet_conv_cpu_onednn.so
  if [ -e "$module" ]; then
    answers 7 env LD_LIBRARY_PATH="$prefix/$libdir" "$work/$stage/plain" "$sample" conv1=onednn
    [ ! -x "$prefix/bin/lenslet" ] ||
      answers "$sample: 7" "$prefix/bin/lenslet" classify --device cpu --backend conv1=onednn "$sample"
  fi
  if [ -x "$prefix/bin/convbench" ]; then
    # shellcheck disable=SC2016  # the script expands it
    # A stand-in for the interpreter that prints the script it was called with.
    printf '#!/bin/sh\necho "$1" >%q\n' "$work/script" >"$work/python"
    chmod +x "$work/python"
    log 'convbench run --report' env LENSLET_PYTHON="$work/python" "$prefix/bin/convbench" run \
      --problem mb1ic1ih8oc1kh3 \
      --device cpu --backend direct --warmup-ms 0 --min-time-ms 1 --json "$work/run.json" --report "$work/page.html"
    [ "$(cd "$(dirname "$(cat "$work/script")")" && pwd)" = "$prefix/share/lenslet/report" ] ||
      fail "the report's script is not the installed one: $(cat "$work/script")"
  fi
}

stage=first prefix=$work/first/prefix
log 'installing' "$cmake" --install "$build" --prefix "$prefix"
printf '#include <lenslet.h>\n#include <lenslet.h>\nint main(void) { return lenslet_version() == 0; }\n' \
  >"$work/alone.c"
strict=(-pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I "$prefix/include")
for standard in c89 c99 c11; do
  log "lenslet.h as $standard" "$cc" -std=$standard -Wstrict-prototypes "${strict[@]}" "$work/alone.c"
done
log 'lenslet.h as C++98' "$cxx" -std=c++98 "${strict[@]}" -x c++ "$work/alone.c"
# All headers that an installed header includes are installed.
(cd "$prefix/include/lenslet" && find . -name '*.h' | sort | sed 's|^\./\(.*\)|#include "\1"|') >"$work/all.cpp"
[ "$(wc -l <"$work/all.cpp")" -gt 40 ] || fail 'hardly any header was installed'
log 'all C++ headers together' "$cxx" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I "$prefix/include/lenslet" \
  "$work/all.cpp"
check_prefix

# No installed file contains the path of the installation or of the build.
stage=second prefix=$work/elsewhere/deeper/prefix
mkdir -p "$work/elsewhere/deeper"
mv "$work/first/prefix" "$prefix"
strays=$(grep -rlE "$(as_paths "$work/first" "$build" "$source")" \
  "$prefix/$libdir/cmake" "$prefix/$libdir/pkgconfig" "$prefix/include" || true)
[ -z "$strays" ] || fail "installed files name the places where they were built or first installed: $strays"
check_prefix

# Versions: a minor version may be incompatible, a later patch may not.
for asked in 0.1 0.3 1.0; do
  printf 'find_package(lenslet %s CONFIG REQUIRED)\n' $asked >"$work/version.cmake"
  said=$("$cmake" -Dlenslet_DIR="$prefix/$libdir/cmake/lenslet" -P "$work/version.cmake" 2>&1) &&
    fail "version $asked was found"
  grep -q 'not accepted' <<<"$said" || fail "version $asked was refused for another reason: $said"
done
printf 'consumers in C and C++ were built and run against %s files, and again after those were moved\n' \
  "$(find "$prefix" -type f | wc -l)"
