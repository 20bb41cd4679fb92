#!/usr/bin/env bash
# Another project includes Lenslet by add_subdirectory: it builds the parts that it uses, and no others.
#   subdirectory_test.sh SOURCE_DIR CMAKE CC CXX BUILD_TYPE [CMAKE_OPTION…]
set -euo pipefail
source=$1 cmake=$2 cc=$3 cxx=$4 build_type=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The compiler cache sees paths relative to this folder, so the next run, in another folder, hits its objects. Without
# the second line it has none that were compiled with a precompiled header.
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros
fail() {
  cat "$work/log" >&2
  printf 'subdirectory_test: %s\n' "$*" >&2
  exit 1
}

"$cmake" -S "$source/tests/embedding/consumers/subdirectory" -B "$work/build" -G Ninja -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE="$build_type" -DBUILD_TYPE="$build_type" -DLENSLET_SOURCE="$source" \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" \
  >"$work/log" 2>&1 || fail 'the project could not be configured'
# The host's own file is compiled with our include folders and without our flags.
compiled=$(grep '"command".*consumers/cxx/main\.cpp' "$work/build/compile_commands.json") ||
  fail 'the host does not compile its own file'
! grep -oE ' -(W[a-z-]+|f(sanitize|visibility)[^ ]*)' <<<"$compiled" >>"$work/log" ||
  fail 'the host inherits the flags above'
# Built in units: half the time of the compiler. The main build compiles each source alone.
"$cmake" -DLENSLET_FAST_FIRST_BUILD=ON "$work/build" >"$work/log" 2>&1 ||
  fail 'the project could not be configured again'
"$cmake" --build "$work/build" --parallel "$(nproc)" --target consumer consumer_c >"$work/log" 2>&1 ||
  fail 'the project could not be built'
for digit in 3 8; do
  for program in consumer consumer_c; do
    said=$("$work/build/$program" "$source/samples/digit_${digit}_b.png") || fail "$program ended with $?"
    case $said in
      "$digit "*) ;;
      *) fail "$program: expected $digit first, found '$said'" ;;
    esac
  done
done
# `install` of the host installs none of our files.
"$cmake" --install "$work/build" --prefix "$work/prefix" >"$work/log" 2>&1 || fail 'installing the host failed'
[ ! -e "$work/prefix" ] || fail "installing the host installed $(find "$work/prefix" -type f | head -n 3)"
