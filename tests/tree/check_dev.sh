#!/usr/bin/env bash
# ./dev: its help, its refusals, the files that it writes, and the download of MNIST from mirrors that send wrong,
# incomplete or correct files. What it builds, installs and prints: check_dev_steps.sh.
#   check_dev.sh ROOT [--first]
# The mirrors are folders (file:// URLs), so no data leaves the machine. The successful download needs the real files:
# LENSLET_MNIST_DIR with .gz files; without them that part is skipped with the reason.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) first=${2:-}
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/tree/expect.sh
. "$here/expect.sh"

# ./dev bench writes the files behind the tables of results, except those of other frameworks, of CUTLASS, of several
# GPUs (it measures one) and of the training of weights. "{}" in a name there is a variable here.
wrote=$(sed -E 's/[$]batch/10000/g; s/[$](kind|math)/{}/g' dev.d/bench.sh)
while read -r file; do
  if [[ $file != @(peers|cutlass|calls-several|training|robust).json ]] &&
    ! grep -qE "/$(sed 's/[*]/[a-z0-9]*/; s/{}/(\\{\\}|[a-z0-9]+)/' <<<"$file")\"" <<<"$wrote"; then
    printf 'FAILED: docs/results reads %s, which ./dev bench does not write\n' "$file"
    fail
  fi
done < <(grep -ohE '[a-z0-9_*{}-]+\.json' docs/results/*.py | sort -u)

# The hosted CI calls .ci/run on every supported system, without the GPU side and with it, and its sanitizers on one.
jobs=$(sed -nE "s/^ *- [{] image: '([^']*)', side: (cpu|cuda|sanitizers) [}]$/\1 \2/p" .github/workflows/ci.yml |
  sed -E 's|^nvidia/cuda:[0-9.]+(-cudnn)?-devel-ubuntu|ubuntu:|' | sort | tr '\n' ',')
expected='debian:12 cpu,debian:12 sanitizers,ubuntu:22.04 cpu,ubuntu:22.04 cuda,ubuntu:24.04 cpu,ubuntu:24.04 cuda,'
if [ "$jobs" != "$expected" ]; then
  printf 'FAILED: the hosted CI (ci.yml) runs on other systems than CONTRIBUTING.md says: %s\n' "$jobs"
  fail
fi
# shellcheck disable=SC2016  # GitHub expands it
expect 0 'run: .ci/run --${{ matrix.side }}' cat .github/workflows/ci.yml
expect 0 "LENSLET_CI_BASE: .*'push' && github.event.before" cat .github/workflows/ci.yml

# The nightly jobs are commands of ./dev.
# shellcheck disable=SC2016  # GitHub expands it
expect 0 'run: ./dev ${{ matrix.command }}' cat .github/workflows/nightly.yml
# ./dev mutate needs the environment of ./dev python for the faults of the package.
expect 0 'run: ./dev python --cpu' grep -A1 "if: startsWith(matrix.command, 'mutate')" .github/workflows/nightly.yml
nightly=0
while read -r name; do
  nightly=$((nightly + 1))
  expect 0 "^  ./dev $name " ./dev help
done < <(sed -nE 's/^ {10}- ([a-z-]+)( .*)?$/\1/p' .github/workflows/nightly.yml)
if [ "$nightly" -eq 0 ]; then
  echo 'FAILED: nightly.yml has no command of ./dev'
  fail
fi

expect 0 '^  ./dev demo ' ./dev help
expect 0 '^  ./dev test ' ./dev test --help
expect 0 '^  --preset NAME ' ./dev test --help
expect 0 '^  ./dev new-backend NAME ' ./dev new-backend --help
[ "$(grep -c '^  ./dev ' "$work/out")" -eq 1 ] || { echo 'FAILED: the help of one command has others'; fail; }
expect 2 'Lenslet' ./dev
expect 2 "there is no './dev bulid'" ./dev bulid
expect 2 "build: unknown option '--gpu'" ./dev build --gpu
expect 2 "no preset 'nonesuch'" ./dev test --preset nonesuch
expect 2 '--preset needs a name' ./dev build --preset
expect 2 "no preset '[.][*]'" ./dev build --preset '.*'
expect 2 "no preset 'base'" ./dev build --preset base
expect 2 "no preset ''" ./dev build --preset ''
expect 2 "LENSLET_JOBS takes a whole number, found 'many'" env LENSLET_JOBS=many ./dev build
expect 2 "LENSLET_JOBS takes a whole number of at least 1, found '0'" env LENSLET_JOBS=0 ./dev demo
expect 2 "no preset 'nowhere'" env LENSLET_PRESET=nowhere ./dev demo
expect 2 "setup: unknown option 'all'" ./dev setup all
expect 2 "sanitize: unknown option '--bogus'" ./dev sanitize --bogus
expect 2 '--tool needs a value' ./dev sanitize --tool
expect 2 "sanitize has no tool 'nvcheck'" ./dev sanitize --tool nvcheck
expect 2 "--jobs takes a whole number, found '-1'" ./dev sanitize --jobs -1
expect 2 "--jobs takes a whole number, found 'two'" ./dev mutate --jobs two
expect 2 "--gpus takes a whole number of at least 1, found '0'" ./dev mutate --gpus 0
expect 2 "--gpus takes a whole number of at least 1, found '0'" ./dev sanitize --gpus 0
expect 2 "--seconds takes a whole number, found '1h'" ./dev fuzz --seconds 1h
expect 2 "fuzz has no target 'nonesuch'" ./dev fuzz nonesuch
expect 2 "mutate: unknown option '--bogus'" ./dev mutate --bogus
expect 2 'new-backend needs a name' ./dev new-backend --cpu
expect 2 'new-backend needs a device' ./dev new-backend fancy
expect 2 "found 'Fancy'" ./dev new-backend Fancy --cpu
expect 2 "not of 'pool'" ./dev new-backend fancy --cpu --layer pool
expect 2 "new-backend: unknown option '--bogus'" ./dev new-backend fancy --bogus
expect 1 'has a row for direct on the GPU already' ./dev new-backend direct --cuda
expect 1 'has a row for direct on the GPU already' ./dev new-backend direct --gpu
expect 2 '--build-only needs a value' ./dev mutate --build-only
expect 2 'no fault has a name with nonesuch' ./dev mutate --list --filter nonesuch
expect 0 '^cpu executable_keeps_no_input in framework/execution/executable.cpp: ' ./dev mutate --list
expect 2 '--dir needs a folder' ./dev mnist --dir
expect 2 '--dir needs a folder' ./dev mnist --dir ''
expect 2 "format: unknown option '--fix'" ./dev format --fix
expect 2 "lint: unknown option '--fix'" ./dev lint --fix
expect 2 "takes a whole number, found 'soon'" ./dev lint --seconds soon
expect 2 '--base is for --affected' ./dev test --base HEAD
expect 2 '--base needs a commit' ./dev test --affected --base
expect 2 '--json needs a file' ./dev test --json
expect 2 '--json needs a value' ./dev sanitize --json
expect 2 'leave out --quick' ./dev test --affected --quick
expect 2 'leave out --quick, --threads-only, --apps and --filter' ./dev test --filter conv --affected
expect 2 'leave out --quick, --threads-only, --apps and --filter' ./dev test --apps --affected
expect 2 "python: unknown option '--gpu'" ./dev python --gpu
expect 2 '--filter needs an expression' ./dev python --filter
expect 2 "as -DNAME=VALUE, found 'LENSLET_CUDA=OFF'" ./dev python -- LENSLET_CUDA=OFF
expect 2 "bench has no part 'speed': there are lenet conv layers calls peers networks serve" \
  ./dev bench --part lenet,speed
expect 2 "bench has no part '': there are lenet conv" ./dev bench --part ''
expect 2 "--seconds takes a whole number, found '1e3'" ./dev bench --seconds 1e3
expect 2 "--built $work has no bin/lenslet" ./dev bench --built "$work"
expect 2 'usage: .ci/run .--cpu|--cuda|--sanitizers., found: --gpu' .ci/run --gpu
for command in demo test bench python; do
  expect 1 "^dev: LENSLET_MNIST_DIR=$work has no t10k-images" env "LENSLET_MNIST_DIR=$work" ./dev "$command"
  [ "$(wc -l <"$work/out")" -eq 1 ] || { echo "FAILED: ./dev $command went on without MNIST"; fail; }
done

if command -v curl >/dev/null 2>&1; then
  first=train-images-idx3-ubyte.gz
  mkdir "$work/lies" "$work/cut"
  printf 'not MNIST' | gzip >"$work/lies/$first"
  head -c 100000 /dev/urandom | gzip >"$work/whole.gz"
  head -c 50000 "$work/whole.gz" >"$work/cut/$first"
  expect 1 'not the expected data' env "LENSLET_MNIST_MIRRORS=file://$work/lies" ./dev mnist --dir "$work/got"
  [ -z "$(ls -A "$work/got")" ] || { echo 'FAILED: a wrong file was kept'; fail; }
  expect 1 'cut off after 50000 bytes: kept' env "LENSLET_MNIST_MIRRORS=file://$work/cut" ./dev mnist --dir "$work/got"
  expect 1 'could not be downloaded from any of' env "LENSLET_MNIST_MIRRORS=file://$work/none" ./dev mnist \
    --dir "$work/got"
  if [ -e "${LENSLET_MNIST_DIR:-}/$first" ]; then
    rm -rf "$work/got"
    mkdir "$work/got"
    head -c 1000000 "$LENSLET_MNIST_DIR/$first" >"$work/got/$first.part"
    expect 0 'resuming after 1000000 bytes' env "LENSLET_MNIST_MIRRORS=file://$work/lies file://$LENSLET_MNIST_DIR" \
      ./dev mnist --dir "$work/got"
    expect 0 "$first is already there" env "LENSLET_MNIST_MIRRORS=file://$work/none" ./dev mnist --dir "$work/got"
  else
    echo 'skipped: LENSLET_MNIST_DIR has no .gz files: the download that succeeds was left out'
  fi
else
  echo 'skipped: curl is not installed (./dev setup --tests): the downloads were left out'
fi
[ "$failed" -eq 0 ] || exit 1
echo 'dev answers as documented'
