#!/usr/bin/env bash
# ./dev: its help, its refusals, and the download of MNIST from mirrors that lie, break off or are right.
#   check_dev.sh ROOT
# The mirrors are folders (file:// URLs), so nothing leaves the machine. The download that succeeds needs the real files:
# LENSLET_MNIST_DIR with .gz files; without them that part is left out, and said so.
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=0
# expect CODE PATTERN COMMAND…: the exit code, and a line of the output.
expect() {
  local code=$1 pattern=$2 got=0
  shift 2
  "$@" >"$work/out" 2>&1 </dev/null || got=$?
  if [ "$got" -ne "$code" ] || ! grep -q -e "$pattern" "$work/out"; then
    printf 'FAILED: %s\n  expected exit %d and "%s", got exit %d and:\n' "$*" "$code" "$pattern" "$got"
    sed 's/^/  /' "$work/out"
    failed=1
  fi
}

expect 0 '^  ./dev demo ' ./dev help
expect 0 '^  ./dev test ' ./dev test --help
expect 2 'Lenslet' ./dev
expect 2 "there is no './dev bulid'" ./dev bulid
expect 2 "build does not know '--gpu'" ./dev build --gpu
expect 2 "no preset 'nonesuch'" ./dev test --preset nonesuch
expect 2 '--preset needs a name' ./dev build --preset
expect 2 "no preset 'nowhere'" env LENSLET_PRESET=nowhere ./dev demo
expect 2 "setup does not know 'all'" ./dev setup all
expect 2 "sanitize does not know '--bogus'" ./dev sanitize --bogus
expect 2 '--tool needs a value' ./dev sanitize --tool
expect 2 "mutate does not know '--bogus'" ./dev mutate --bogus
expect 2 '--build-only needs a value' ./dev mutate --build-only
expect 2 'no fault has a name with nonesuch' ./dev mutate --list --only nonesuch
expect 0 '^cpu executable_keeps_no_input in framework/executable.cpp: ' ./dev mutate --list
expect 2 '--dir needs a folder' ./dev mnist --dir
expect 2 "format does not know '--fix'" ./dev format --fix
expect 2 "python does not know '--gpu'" ./dev python --gpu
expect 2 '--filter needs an expression' ./dev python --filter
expect 2 "as -DNAME=VALUE, found 'LENSLET_CUDA=OFF'" ./dev python -- LENSLET_CUDA=OFF
for command in demo test bench python; do
  expect 1 "^dev: LENSLET_MNIST_DIR=$work has no t10k-images" env "LENSLET_MNIST_DIR=$work" ./dev "$command"
  [ "$(wc -l <"$work/out")" -eq 1 ] || { echo "FAILED: ./dev $command went on without MNIST"; failed=1; }
done

# ./dev bench writes what the tables of results are made from, but for what other frameworks do.
wrote=$(sed 's/[$]batch/10000/g' dev.d/bench.sh)
while read -r file; do
  if [ "$file" != peers.json ] && ! grep -qE "/${file//\*/[a-z0-9]*}\"" <<<"$wrote"; then
    printf 'FAILED: docs/results reads %s, which ./dev bench does not write\n' "$file"
    failed=1
  fi
done < <(grep -ohE '[a-z0-9*-]+\.json' docs/results/*.py | sort -u)

if command -v curl >/dev/null 2>&1; then
  first=train-images-idx3-ubyte.gz
  mkdir "$work/lies" "$work/cut"
  printf 'not MNIST' | gzip >"$work/lies/$first"
  head -c 100000 /dev/urandom | gzip >"$work/whole.gz"
  head -c 50000 "$work/whole.gz" >"$work/cut/$first"
  expect 1 'not the expected data' env "LENSLET_MNIST_MIRRORS=file://$work/lies" ./dev mnist --dir "$work/got"
  [ -z "$(ls -A "$work/got")" ] || { echo 'FAILED: a wrong file was kept'; failed=1; }
  expect 1 'cut off after 50000 bytes: kept' env "LENSLET_MNIST_MIRRORS=file://$work/cut" ./dev mnist --dir "$work/got"
  expect 1 'could not be had from any of' env "LENSLET_MNIST_MIRRORS=file://$work/none" ./dev mnist --dir "$work/got"
  if [ -e "${LENSLET_MNIST_DIR:-}/$first" ]; then
    rm -rf "$work/got"
    mkdir "$work/got"
    head -c 1000000 "$LENSLET_MNIST_DIR/$first" >"$work/got/$first.part"
    expect 0 'going on after 1000000 bytes' env "LENSLET_MNIST_MIRRORS=file://$work/lies file://$LENSLET_MNIST_DIR" ./dev mnist --dir "$work/got"
    expect 0 "$first is there and right" env "LENSLET_MNIST_MIRRORS=file://$work/none" ./dev mnist --dir "$work/got"
  else
    echo 'skipped: LENSLET_MNIST_DIR has no .gz files: the download that succeeds was left out'
  fi
else
  echo 'skipped: curl is not installed (./dev setup --tests): the downloads were left out'
fi
[ "$failed" -eq 0 ] || exit 1
echo 'dev answers as documented'
