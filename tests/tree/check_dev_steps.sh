#!/usr/bin/env bash
# What ./dev builds, installs and prints, with stand-ins for the tools that it calls. check_dev.sh has its refusals.
#   check_dev_steps.sh ROOT [--first [PART…]]
# PART: builds, first_build, packages, affected, lint, ci, apps, cmake, failures, skips, results or bench; without one
# all run. Each has a stage of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) first=${2:-}
cd "$1"
shift $(($# < 2 ? $# : 2))
parts=("$@")
[ "$#" -gt 0 ] || parts=(builds first_build packages affected lint ci apps cmake failures skips results bench)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/tree/expect.sh
. "$here/expect.sh"

stage=$work/stage tools=$work/tools
# stand_in NAME: a tool with the script of standard input, for the shell that starts fastest.
stand_in() {
  local script
  IFS= read -r -d '' script || true
  printf '#!/bin/sh\n%s' "$script" >"$tools/$1"
  chmod +x "$tools/$1"
}
# real_tools NAME…: the machine's.
real_tools() {
  local name paths=()
  for name in "$@"; do paths+=("$(command -v "$name")"); done
  ln -sf "${paths[@]}" "$tools"
}
# A copy of ./dev, with stand-ins on PATH that record how they are called: no compiler runs and nothing is installed.
# There is no GPU, and zsh is missing.
set_stage() {
  local tool
  rm -rf "$stage" "$tools"
  mkdir "$stage" "$tools"
  cp -r dev dev.d CMakePresets.json pyproject.toml "$stage"
  real_tools awk bash cat chmod cmp cp cut date dirname env grep head id mkdir nproc rm sed sh sort tail tee touch wc
  stand_in c++ <<<'while read -r line; do :; done'
  for tool in ninja ccache mandoc groff doxygen dpkg-shlibdeps pkg-config python3 shellcheck curl git clang-format-14 \
    clang-tidy-14 mpicxx mpirun nvcc; do
    stand_in "$tool" <<<':'
  done
  # shellcheck disable=SC2016  # the stand-in expands them
  stand_in sudo <<<'while [ "$1" = -n ]; do shift; done; exec "$@"'
  stand_in apt-cache <<<'echo "  Candidate: 1.0"'
  stand_in apt-get <<'STAND_IN'
echo "apt-get $*" >>../calls
echo 'apt talks'
echo 'pmstatus:zsh:50.0:unpacking zsh'
printf '#!/bin/sh\n' >../tools/zsh
chmod +x ../tools/zsh
STAND_IN
  stand_in cmake <<'STAND_IN'
case $1 in
  --version) echo "cmake version ${HAS_CMAKE:-3.30.1}" ;;
  --preset)
    echo "cmake $*" >>../calls
    echo 'CMake talks'
    [ "${BREAK:-}" != configure ] || { echo 'CMake Error: no such thing'; exit 1; }
    ;;
  --build)
    echo "cmake $*" >>../calls
    i=0
    while [ "$i" -lt 40 ]; do i=$((i + 1)) && echo "[$i/40] compiling"; done
    [ "${BREAK:-}" != build ] || { printf 'FAILED: thing.o\nthing.cpp:1: error: no such word\n'; exit 1; }
    mkdir -p "$2/bin"
    printf '#!/bin/sh\necho "reads $1"\n' >"$2/bin/lenslet"
    chmod +x "$2/bin/lenslet"
    ;;
esac
STAND_IN
  stand_in ctest <<'STAND_IN'
echo "ctest $*" >>../calls
mkdir -p "build/$2/Testing/Temporary"
test_block() {
  printf '3/9 Testing: %s\n3/9 Test: %s\nCommand: "x"\nOutput:\n-----\n' "$1" "$1"
  cat
  printf '<end of output>\nTest time = 0.01 sec\n-----\n%s\n' "$2"
}
{
  echo 'Start testing: Nov 22 15:42 UTC'
  printf 'a.cpp:1: Skipped\nthis build has no GPU side\n\n[  SKIPPED ] A.B (0 ms)\nb.cpp:7: Skipped\n'\
'this build has no GPU side\n' | test_block conv_layer 'Test Passed.'
  printf 'a.cpp:1: Skipped\nthis build has no GPU side\n' | test_block conv_gpu 'Test Passed.'
  printf 'skipped: curl is not installed\n' | test_block tree_dev 'Test Passed.'
  printf "test_x (A.B) ... skipped 'doxygen is not installed'\n" | test_block docs 'Test Failed.'
  printf 'nothing is said\n' | test_block quiet 'Test Passed.'
  printf 'all was checked\n' | test_block whole 'Test Passed.'
} >"build/$2/Testing/Temporary/LastTest.log"
echo '1/9 Test   #3: conv_layer .......................   Passed    0.48 sec'
echo '2/9 Test  #53: conv_gpu .........................***Skipped   1.38 sec'
echo '3/9 Test #112: quiet ............................***Skipped   0.01 sec'
[ "${BREAK:-}" != test ] || exit 8
STAND_IN
}
# What most parts begin with: a GPU is visible, and nothing is missing.
set_whole_stage() {
  set_stage
  stand_in zsh <<<':'
  stand_in nvidia-smi <<<'echo "GPU 0: a card"'
}
# staged COMMAND…: runs ./dev there and records its calls in $work/calls.
staged() {
  : >"$work/calls"
  (cd "$stage" && env -u LENSLET_PRESET -u LENSLET_MNIST_DIR -u CXX -u CUDACXX -u CUDA_PATH "PATH=$tools" ./dev "$@")
}
# called PATTERN, not_called PATTERN, printed PATTERN, not_printed PATTERN: about the last command.
called() { grep -q -e "$1" "$work/calls" ||
  { printf 'FAILED: no "%s" among the calls:\n' "$1"; cat "$work/calls"; fail; }; }
printed() { grep -q -e "$1" "$work/out" || { printf 'FAILED: no "%s" in the output:\n' "$1"; cat "$work/out"; fail; }; }
not_called() { ! grep -e "$1" "$work/calls" || { printf 'FAILED: ^ was called\n'; fail; }; }
not_printed() { ! grep -e "$1" "$work/out" || { printf 'FAILED: ^ was printed\n'; fail; }; }

# Without a visible GPU it builds only the CPU side, unless requested; it installs nothing for tests; the tools' output
# goes to the log.
check_builds() {
  set_stage
  expect 0 'building only the CPU side (--cuda builds' staged demo
  called '--preset release .*-DLENSLET_CUDA=OFF'
  not_called apt-get
  not_printed 'talks'
  grep -q 'CMake talks' "$stage/build/log/demo.log" ||
    { echo 'FAILED: build/log/demo.log lacks what CMake printed'; fail; }
  expect 0 'reads classify' staged demo --cuda
  called '--preset cuda'
  not_called '-DLENSLET_CUDA=OFF'
  expect 0 'building only the CPU side' staged test
  called 'apt-get install .*zsh'
  not_printed 'talks'
  stand_in nvidia-smi <<<'echo "GPU 0: a card"'
  expect 0 'CUDA toolkit' staged demo
  called '--preset release .*-DLENSLET_CUDA=AUTO'
  called '-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'
  expect 0 'CUDA toolkit' staged test
  called '-DLENSLET_CUDA=AUTO'
  not_called apt-get
}

# The first build on a bare machine is without ccache, which later set-ups install; its build folder stays without it.
check_first_build() {
  set_whole_stage
  rm "$tools/ccache" "$tools/ninja"
  expect 1 'check CXX and CPATH' staged demo
  called 'apt-get install .*ninja-build'
  not_called 'ccache'
  stand_in ninja <<<':'
  expect 0 'reads classify' staged demo
  not_called 'apt-get'
  not_called 'LAUNCHER'
  rm "$tools/zsh"
  expect 0 'what was skipped' staged test
  called 'apt-get install .*ccache'
  stand_in ccache <<<':'
  expect 0 'reads classify' staged demo
  called '-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'
  mkdir -p "$stage/build/release"
  echo 'CMAKE_BUILD_TYPE:STRING=Release' >"$stage/build/release/CMakeCache.txt"
  expect 0 'reads classify' staged demo
  called '--preset release'
  not_called 'LAUNCHER'
  echo 'CMAKE_CXX_COMPILER_LAUNCHER:STRING=ccache' >>"$stage/build/release/CMakeCache.txt"
  expect 0 'reads classify' staged demo
  called '-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'
}

# Required and optional packages are installed in one transaction, or in two if that fails.
check_packages() {
  local fails
  for fails in nothing ccache; do
    set_whole_stage
    rm "$tools/ccache" "$tools/ninja"
    stand_in apt-get <<'STAND_IN'
echo "apt-get $*" >>../calls
case $* in *"$FAILS"*) exit 100 ;; esac
for tool in ccache ninja; do
  case $* in *$tool*) printf '#!/bin/sh\n' >"../tools/$tool" && chmod +x "../tools/$tool" ;; esac
done
STAND_IN
    FAILS=$fails expect 0 'all packages that a build needs' staged setup
    if [ "$fails" = nothing ]; then
      called 'apt-get install .* ninja-build ccache$'
      [ "$(grep -c apt-get "$work/calls")" -eq 1 ] || { echo 'FAILED: more than one transaction'; fail; }
    else
      called 'apt-get install .* ninja-build$'
      printed 'optional package not installed .*ccache'
    fi
  done
}

# ./dev test --affected builds and runs the tests that affected.py names; none if it names none.
check_affected() {
  set_whole_stage
  # shellcheck disable=SC2016  # the stand-in expands it
  stand_in python3 <<<'case $* in *--tests*) echo "$ANSWER" ;; esac'
  ANSWER=$'2 of 9 tests are affected\ntests/test_a tests/test_b\n^(a|b)$' expect 0 '2 of 9 tests' staged test --affected
  called 'ctest .*--tests-regex ^(a|b)\$'
  called 'cmake --build .*--target tests/test_a tests/test_b'
  ANSWER=$'1 of 9 tests are affected\n\n^(page)$' expect 0 'what was skipped' staged test --affected
  called 'ctest .*--tests-regex ^(page)\$'
  not_called 'cmake --build'
  ANSWER='no test is affected' expect 0 'no test is affected' staged test --affected
  not_called 'ctest'
}

# ./dev lint runs all its parts, names those with findings, and reports what it leaves out.
check_lint() {
  set_whole_stage
  stand_in python3 <<'STAND_IN'
case $* in
  *--start*) [ "${BREAK:-}" != history ] && echo base ;;
  *--all-sources*) echo 'framework/whole.cpp' ;;
  *--sources*) [ "${BREAK:-}" != history ] && printf 'framework/a.cpp\nframework/b.cpp\n' ;;
  '-m venv'*) [ "${BREAK:-}" != pip ] || exit 1
    mkdir -p build/lint/venv/bin
    printf '#!/bin/sh\necho "pip $*" >>../calls\ncp ../kept_ruff build/lint/venv/bin/ruff' >build/lint/venv/bin/pip
    chmod +x build/lint/venv/bin/pip
    ;;
esac
STAND_IN
  stand_in clang-format-14 <<'STAND_IN'
[ "$1" != --version ] || echo 'version 14.0'
STAND_IN
  stand_in clang-tidy-14 <<'STAND_IN'
[ "$1" != --version ] || { echo 'version 14.0'; exit 0; }
echo "tidy $*" >>../calls
[ "${BREAK:-}" != tidy ] || { echo 'a.cpp:1: error: a slip'; exit 1; }
STAND_IN
  version=$(sed -n 's/^ruff==/ruff /p' dev.d/requirements.txt)
  stand_in ruff <<STAND_IN
[ "\$1" != --version ] || { echo "$version"; exit; }
echo "ruff \$*" >>../calls
case \$BREAK-\$* in
  python-*format*) echo 'apps/a.py:1:6: unformatted: File would be reformatted'; exit 1 ;;
  rule-check*) echo 'apps/a.py:1:8: F401 unused'; exit 1 ;;
esac
STAND_IN
  real_tools find ln mktemp sleep xargs
  mkdir -p "$stage/apps" "$stage/framework" "$stage/tests/tree"
  touch "$stage/framework/a.cpp" "$stage/framework/b.cpp" "$stage/apps/a.py"
  read -ra checks <<<"$(sed -n 's/^readonly lint_checks=(\(.*\))$/\1/p' dev.d/lint.sh)"
  for check in "${checks[@]}" commits; do
    # shellcheck disable=SC2016  # the stand-in expands it
    printf '[ "$BREAK" != %s ] || { echo a fault; exit 1; }\n' "$check" >"$stage/tests/tree/check_$check.sh"
  done
  stand_in ninja <<<'echo "c++ -Wall -Winvalid-pch -include /a/b.dir/cmake_pch.hxx -c a.cpp"'
  BREAK='' expect 0 'lint found nothing' staged lint
  called '-DLENSLET_FAST_FIRST_BUILD=OFF'
  called 'tidy .*framework/a.cpp'
  called 'tidy .*framework/b.cpp'
  grep -qx 'c++ -Wall -c a.cpp' "$stage/build/release/lint/compile_commands.json" ||
    { echo 'FAILED: clang-tidy would read the precompiled header of GCC'; fail; }
  called 'ruff check .*apps/a.py'
  called 'ruff format --check .*apps/a.py'
  BREAK='' expect 1 'no time left for 2 files .*: framework/[ab].cpp framework/[ab].cpp' staged lint --seconds 0
  printed 'lint found faults: clang-tidy'
  not_called 'tidy'
  BREAK='' expect 0 'lint found nothing' staged lint --all --strict
  called 'tidy .*framework/whole.cpp'
  not_called 'tidy .*framework/a.cpp'
  BREAK=history expect 0 'clang-tidy, since what changed is unknown' staged lint
  printed 'skipped: the subjects of commits'
  not_called 'tidy'
  BREAK=history expect 1 '' staged lint --base HEAD~1
  BREAK=text expect 1 'lint found faults: text' staged lint
  called 'tidy .*framework/b.cpp'
  BREAK=tidy expect 1 'lint found faults: clang-tidy' staged lint
  called 'tidy .*framework/b.cpp'
  BREAK=commits expect 1 'lint found faults: commits' staged lint
  BREAK=rule expect 1 'lint found faults: python' staged lint
  BREAK=python expect 1 'lint found faults: format' staged lint
  BREAK=python expect 1 'apps/a.py: differs from the format of ruff; run ./dev format' staged format --check
  # pip installs ruff once if PATH has none of the pinned version; if it cannot, only --strict fails.
  mv "$tools/ruff" "$work/kept_ruff"
  BREAK=pip expect 0 'skipped: pip could not install ruff' staged lint
  BREAK=pip expect 1 'lint found faults: tools' staged lint --strict
  printed '--strict: not installed: ruff$'
  stand_in ruff <<<'echo "ruff 0.0.1"'
  BREAK='' expect 0 'lint found nothing' staged lint --strict
  called 'pip .*install --requirement dev.d/requirements.txt'
  BREAK='' expect 0 'lint found nothing' staged lint --strict
  not_called 'pip'
  rm "$tools/clang-tidy-14" "$tools/shellcheck"
  BREAK='' expect 1 'not installed: clang-tidy 14 shellcheck' staged lint --strict
}

# ./dev test --apps installs those tests' packages once and runs them alone; other runs leave them out.
check_apps() {
  set_whole_stage
  stand_in python3 <<'STAND_IN'
case "$1 $2" in
  '-c '*) exit "${LACKS:-0}" ;;
  '-m venv')
    mkdir -p build/apps/venv/bin
    printf '#!/bin/sh\necho "pip $*" >>../calls\n[ "$BREAK" != pip ]\n' >build/apps/venv/bin/pip
    chmod +x build/apps/venv/bin/pip
    ;;
esac
STAND_IN
  sed -i 's|^readonly apt_python=.*|readonly apt_python=python3|' "$stage/dev.d/packages.sh"
  mkdir -p "$stage/tests"
  cp tests/apps_requirements.txt "$stage/tests"
  BREAK=pip expect 1 'pip could not install the packages of tests/apps_requirements.txt' staged test --apps
  BREAK='' expect 0 'installing the packages of tests/apps_requirements.txt' staged setup --apps
  called 'pip .*install --requirement tests/apps_requirements.txt'
  not_called 'cmake'
  rm -r "$stage/build/apps"
  LACKS=1 BREAK='' LENSLET_JOBS=3 expect 0 'what was skipped' staged test --apps
  called 'apt-get install .*python3-torch.*chromium-driver.*wrk'
  stand_in chromedriver <<<':'
  stand_in wrk <<<':'
  called 'pip .*install --requirement tests/apps_requirements.txt'
  called 'ctest .*--parallel 6 --label-regex ^apps\$'
  called 'cmake --build .*--target apps_tests'
  not_called 'label-exclude'
  expect 0 'what was skipped' staged test --apps
  not_called 'pip'
  not_called 'apt-get'
  # Ray goes beside the package that ./dev python installed; without a build of Ray its test is skipped.
  mkdir -p "$stage/build/python/venv/bin" "$stage/tests/ray"
  cp tests/ray/requirements.txt "$stage/tests/ray"
  cp "$stage/build/apps/venv/bin/pip" "$stage/build/python/venv/bin"
  printf '#!/bin/sh\nexit 1\n' >"$stage/build/python/venv/bin/python"
  chmod +x "$stage/build/python/venv/bin/python"
  BREAK='' expect 0 'what was skipped' staged test --apps
  called 'pip .*install --requirement tests/ray/requirements.txt'
  BREAK=pip expect 0 'the test of Ray is skipped' staged test --apps
  printf '#!/bin/sh\nexit 0\n' >"$stage/build/python/venv/bin/python"
  expect 0 'what was skipped' staged test --apps
  not_called 'pip'
  expect 0 'what was skipped' staged test --quick
  called 'label-exclude ^(tree|long|apps)\$'
}

# .ci/run lints what comes after LENSLET_CI_BASE, the last commit without it, and for a new branch what the default
# branch lacks.
ci_run() {
  : >"$work/calls"
  (cd "$work/clone" && env -u CI -u LENSLET_CI_BASE "$@" .ci/run --cpu)
}
check_ci() {
  local clone=$work/clone zeros oldest newest base
  zeros=$(printf '%040d' 0)
  mkdir -p "$clone/.ci"
  cp .ci/run "$clone/.ci"
  # shellcheck disable=SC2016  # the stand-in expands it
  printf '#!/bin/sh\necho "dev $*" >>"%s"\n' "$work/calls" >"$clone/dev"
  chmod +x "$clone/dev"
  in_clone() { (cd "$clone" && git -c user.name=test -c user.email=test@example.org -c init.defaultBranch=main "$@"); }
  commit() {
    in_clone commit -q --allow-empty -m "$1"
    in_clone rev-parse HEAD
  }
  expect 0 '' ci_run
  called 'dev setup --apps$'
  called 'dev lint --strict --seconds 900$'
  expect 1 'git has no commit before this one' ci_run CI=1
  in_clone init -q
  oldest=$(commit one)
  commit two >"$work/out"
  newest=$(commit three)
  expect 0 'what comes after HEAD~1' ci_run
  called 'dev lint --strict --seconds 900 --base HEAD~1$'
  expect 0 "what comes after $oldest" ci_run CI=1 LENSLET_CI_BASE="$oldest"
  called "dev lint .*--base $oldest\$"
  expect 0 "no commit $zeros, and no other branch" ci_run CI=1 LENSLET_CI_BASE="$zeros"
  called 'dev lint .*--base HEAD~1$'
  in_clone update-ref refs/remotes/origin/main "$newest"
  expect 0 "no commit $zeros, and no other branch" ci_run CI=1 LENSLET_CI_BASE="$zeros"
  in_clone update-ref refs/remotes/origin/main "$oldest"
  for base in "$zeros" "${zeros//0/a}"; do
    expect 0 'what comes after origin/main' ci_run CI=1 LENSLET_CI_BASE="$base"
    called 'dev lint .*--base origin/main$'
  done
}

# A CMake that is too old is replaced by pip's, once, which is then used.
check_cmake() {
  set_whole_stage
  stand_in python3 <<'STAND_IN'
[ "$1 $2" = '-m venv' ] || exit 0
mkdir -p build/tools/bin
printf '#!/bin/sh\necho "pip $*" >>../calls\nprintf "#!/bin/sh\\nHAS_CMAKE=3.28.1 '\
'exec ../tools/cmake \\"\\$@\\"\\n" >build/tools/bin/cmake\n'\
'chmod +x build/tools/bin/cmake\n' >build/tools/bin/pip
chmod +x build/tools/bin/pip
STAND_IN
  HAS_CMAKE=3.22.1 expect 0 'CMake 3.24 or newer is needed, found 3.22.1' staged demo
  called 'pip .*install cmake>=3.24'
  called '--preset release'
  HAS_CMAKE=3.22.1 expect 0 'reads classify' staged demo
  not_called 'pip'
}

# A failure prints its cause and the path of the log.
check_failures() {
  set_whole_stage
  BREAK=configure expect 1 'CMake Error: no such thing' staged demo
  printed 'build/release (the end of build/log/demo.log is above)'
  BREAK=build expect 1 'thing.cpp:1: error: no such word' staged demo
  not_printed '39/40'
}

# ./dev test ends with the list of skips, also after a failed test.
check_skips() {
  set_whole_stage
  for code in 0 1; do
    BREAK=${code/1/test} expect "$code" 'what was skipped, and why' staged test
    sed -n '/what was skipped/,$p' "$work/out" >"$work/skipped"
    diff "$work/skipped" - <<'SKIPPED' || { echo 'FAILED: ./dev test lists other skips (<) than expected (>)'; fail; }
== what was skipped, and why
   this build has no GPU side
      3 in conv_layer* conv_gpu
   curl is not installed
      1 in tree_dev*
   doxygen is not installed
      1 in docs*
   no reason is given
      1 in quiet
   2 tests skipped as a whole, 3 in part (marked *)
SKIPPED
  done
}

# --json of ./dev test and ./dev sanitize: the scripts that write result files get the file, also after a failed test.
check_results() {
  set_whole_stage
  stand_in python3 <<<'echo "python3 $*" >>../calls'
  for code in 0 1; do
    BREAK=${code/1/test} expect "$code" 'what was skipped' staged test --quick --json kept.json -- --verbose
    called "ctest --preset release .*--output-junit $stage/build/release/Testing/Temporary/junit.xml .*--verbose"
    called 'python3 tests/support/test_results.py build/release/Testing/Temporary/junit.xml --json kept.json'
  done
  BREAK='' expect 0 'what was skipped' staged test
  not_called 'junit'
  BREAK='' expect 0 '' staged sanitize --tool memcheck --json kept.json
  called 'python3 tests/sanitize/sanitize.py .*--tool memcheck --json kept.json'
}

# Every part of ./dev bench measures the GPU that --device names, whose name the folder has.
check_bench() {
  local part gpu folder CUDA_VISIBLE_DEVICES=''
  export CUDA_VISIBLE_DEVICES
  set_whole_stage
  stand_in wrk <<<':'
  stand_in ncu <<<':'
  stand_in nvidia-smi <<<'echo "NVIDIA T4"'
  # shellcheck disable=SC2016  # the stand-in expands it
  stand_in python3 <<<'echo "python3 $* on ${CUDA_VISIBLE_DEVICES:-all}" >>../calls'
  stand_in lenslet <<'STAND_IN'
echo "lenslet $* on ${CUDA_VISIBLE_DEVICES:-all}" >>../calls
[ "$1" = profile ] || exit 0
[ "$3" = cpu ] || printf '  "devices": [\n    {\n      "name": "%s",\n      "device": "%s",\n' "$GPU" "$3"
printf '  "ceilings": {\n    "device": "%s",\n  "conditions": {\n      "device": "%s",\n' "$3" "$3"
STAND_IN
  mkdir -p "$stage/kept/bin" "$stage/data"
  mv "$tools/lenslet" "$stage/kept/bin"
  touch "$stage/data/t10k-images-idx3-ubyte" "$stage/data/t10k-labels-idx1-ubyte"
  local command=(staged bench --built kept --part 'lenet,calls,peers,networks,serve,counters' --device)
  GPU='NVIDIA H100 80GB HBM3' expect 0 'results: docs/results/20[0-9-]*-h100$' "${command[@]}" cuda:1
  for part in 'lenslet bench --device cuda:0' 'user_calls.py .*--device cuda:0' 'lenet5_peers.py .*--device cuda' \
    'networks_peers.py .*--device cuda' 'serve_load.py .*--device cuda' 'counters.py .*--device cuda:0'; do
    called "$part .*on 1$"
  done
  [ "$(grep -c 'on all$' "$work/calls")" -eq 1 ] || { echo 'FAILED: a part saw other GPUs:'; cat "$work/calls"; fail; }
  GPU='NVIDIA H200' CUDA_VISIBLE_DEVICES=5,3 expect 0 'results: docs/results/20[0-9-]*-h200$' "${command[@]}" cuda:1
  called 'lenet5_peers.py .*--device cuda .*on 3$'
  while read -r folder gpu; do
    GPU=$gpu expect 0 "results: docs/results/20[0-9-]*-$folder\$" staged bench --built kept --part calls --device cuda:0
  done <<'NAMES'
v100 Tesla V100-SXM2-16GB
4090 NVIDIA GeForce RTX 4090
titan-v NVIDIA TITAN V
NAMES
  expect 0 'results: docs/results/20[0-9-]*-cpu$' "${command[@]}" cpu
  called 'lenet5_peers.py .*--device cpu .*on all$'
  expect 1 'nothing was measured: each part was skipped' staged bench --built kept --part counters --device cpu
  # A command that fails is named at the end, and the others run; one that was interrupted ends all.
  # shellcheck disable=SC2016  # the stand-in expands it
  stand_in python3 <<<'echo "python3 $*" >>../calls; case $* in *user_calls.py*) exit "$CALLS_CODE" ;; esac'
  CALLS_CODE=1 expect 1 '1 of the commands above failed' "${command[@]}" cpu
  printed '^== failed in calls: python3 apps/peers/user_calls.py .*(exit code 1)$'
  printed '^== results: '
  called 'lenet5_peers.py'
  called 'serve_load.py'
  CALLS_CODE=130 expect 130 'user_calls.py' "${command[@]}" cpu
  not_called 'lenet5_peers.py'
}

for part in "${parts[@]}"; do "check_$part"; done
[ "$failed" -eq 0 ] || exit 1
echo 'dev takes the documented steps'
