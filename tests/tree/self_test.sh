#!/usr/bin/env bash
# The checks bite: each passes on a copy of the tree, and fails with the right message for a planted violation.
#   self_test.sh PART ROOT GENERATED_DIR CXX NVCC [PROGRAM…]
# PART is `dev` (the checks of ./dev) or `others`.
# NVCC is empty if this build has no GPU side; PROGRAM are lenslet and convbench.
# shellcheck disable=SC2016  # backticks are planted as they are
set -euo pipefail
part=$1 root=$2 generated=$3 cxx=$4 nvcc=$5
shift 5
programs=("$@")
here=$root/tests/tree
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

copy=$work/tree
failed=0 planted=0
fresh_copy() {
  rm -rf "$copy"
  mkdir "$copy"
  # Exit code 1: a folder changed meanwhile, for example by its first __pycache__.
  { (cd "$root" && tar -cf - --exclude=__pycache__ framework layers models api apps python tests weights cmake \
    packaging docs samples README.md CONTRIBUTING.md CHANGELOG.md LICENSE CMakePresets.json CMakeLists.txt \
    pyproject.toml dev dev.d \
    .clang-format .ci .github) || [ $? -eq 1 ]; } | tar -xf - -C "$copy"
}

# use CHECK…: what green and red run from here on, with further arguments of their own.
check=()
use() { check=("$@"); }

# green [ARGUMENT…]
green() {
  "${check[@]}" "$@" >"$work/out" 2>&1 && return
  printf 'FAILED: red without a violation: %s\n' "${check[*]} $*"
  sed 's/^/  /' "$work/out"
  failed=1
}

# red FILE TEXT WORDS [ARGUMENT…]: appends TEXT to FILE, expects failure with WORDS, and removes it.
red() {
  local file=$copy/$1 text=$2 words=$3 existed=no
  shift 3
  planted=$((planted + 1))
  mkdir -p "$(dirname "$file")"
  if [ -e "$file" ]; then
    existed=yes
    cp -p "$file" "$work/kept"
  fi
  printf '%b\n' "$text" >>"$file"
  if "${check[@]}" "$@" >"$work/out" 2>&1; then
    printf 'FAILED: stays green with a violation in %s: %s\n' "${file#"$copy"/}" "${check[*]} $*"
    failed=1
  elif ! grep -q -e "$words" "$work/out"; then
    printf 'FAILED: red for another reason than "%s": %s\n' "$words" "${check[*]} $*"
    sed 's/^/  /' "$work/out"
    failed=1
  fi
  if [ "$existed" = yes ]; then
    cp -p "$work/kept" "$file"
  else
    rm -f "$file"
  fi
}

finish() {
  [ "$failed" -eq 0 ] || exit 1
  printf '%d planted violations, all found\n' "$planted"
  exit
}

fresh_copy

if [ "$part" = dev ]; then
  # That they pass without a violation is what tree_dev and tree_dev_steps test, on the same files.
  use env -u LENSLET_MNIST_DIR bash "$here/check_dev.sh" "$copy" --first
  red docs/results/planted.py 'load(folder, "planted.json")' 'reads planted.json'
  red docs/results/planted.py 'PLANTED = "planted-{}.json"' 'reads planted-{}.json'
  red .github/workflows/ci.yml "          - { image: 'debian:11', side: cpu }" 'the hosted CI'
  red .github/workflows/nightly.yml '          - fuz --all' 'dev fuz '
  use bash "$here/check_dev_steps.sh" "$copy" --first
  red dev.d/test.sh 'cmd_test() { build all; }' 'no "apt-get install' builds
  red dev.d/build.sh 'has_gpu() { true; }' 'building only the CPU side' builds
  red dev.d/build.sh 'has_gpu() { false; }' 'DLENSLET_CUDA=AUTO' builds
  red dev.d/setup.sh 'setup_if_needed() { check_cmake; }' 'no "apt-get install' builds
  red dev.d/setup.sh 'setup_if_needed() { cmd_setup --tests; }' 'was called' builds
  red dev.d/setup.sh 'check_cmake() { :; }' 'found 3.22.1' cmake
  red dev.d/log.sh 'logged() { open_log; "$@"; }' 'was printed' builds
  red dev.d/log.sh 'log_end() { tail "$log"; }' 'was printed' failures
  red dev.d/test.sh 'awk() { [[ $* == *skipped.awk* ]] || command awk "$@"; }' 'lists other skips' skips
  red dev.d/test.sh 'find_affected() { targets=all pattern=.; }' '2 of 9 tests' affected
  red dev.d/test.sh 'setup_apps() { :; }' 'pip could not install the packages' apps
  red dev.d/test.sh 'ctest() { command ctest "${@/#6/3}"; }' 'no "ctest .*parallel 6' apps
  red dev.d/test.sh 'python3() { :; }' 'no "python3 tests/support/test_results.py' results
  red dev.d/test.sh 'ctest() { shift 2; command ctest --preset release; }' 'no "ctest .*junit' results
  red dev.d/bench.sh 'show_only_gpu() { :; }' 'no "lenslet bench --device cuda:0.*on 1' bench
  red dev.d/bench.sh 'short_name() { echo gpu; }' 'results: docs/results/.*-h100' bench
  red dev.d/bench.sh 'bench_counters() { try counters.py python3 counters.py --device cuda:0; }' \
    'nothing was measured' bench
  red dev.d/build.sh 'takes_ccache() { has_program ccache; }' 'was called' first_build
  red dev.d/setup.sh 'setup_if_needed() { cmd_setup "$@"; }' 'was called' first_build
  red dev.d/setup.sh 'set_up() { install_missing required "${required[@]}"; install_missing optional "$@"
say "all packages that a build needs are installed"; }' 'no "apt-get install' packages
  red dev.d/lint.sh 'tidy() { :; }' 'no "tidy .*framework/a.cpp"' lint
  red dev.d/lint.sh 'lint_checks() { :; }; bash() { :; }' 'lint found faults: text' lint
  red dev.d/lint.sh 'mapfile() { [ "$2" = left ] || builtin mapfile "$@"; }' 'no time left for 2 files' lint
  red dev.d/lint.sh 'check_python() { :; }' 'no "ruff check' lint
  red dev.d/lint.sh 'check_tools() { :; }' 'lint found faults: tools' lint
  red dev.d/format.sh 'check_or_write_python() { :; }' 'no "ruff format' lint
  red dev.d/packages.sh 'install_from_pypi() { mkdir -p "$1/bin"; cp ../kept_ruff "$1/bin/ruff"; }' \
    'pip could not install ruff' lint
  finish
fi

use bash "$here/check_first_build.sh" "$copy" "$generated"
red framework/tensor/pixels.cpp 'namespace lenslet { namespace { constexpr int kValuesPerTask = 1; } }' \
  'do not compile as one unit' lenslet_framework
red cmake/LensletFirstBuild.cmake 'set(lenslet_builds_fast ON)' 'expected no, found yes'
red framework/CMakeLists.txt 'set_property(SOURCE device/device_memory.cpp PROPERTY SKIP_UNITY_BUILD_INCLUSION OFF)' \
  'device_memory.cpp is compiled with other sources'

use bash "$here/check_includes.sh" "$copy"
green
red framework/planted.cpp '#include "layers/conv/conv_problem.h"' 'points up'
red framework/planted.h '#include "framework/io/idx.h"' 'points up'
red framework/base/planted.cpp '#include "framework/execution/plan.h"' \
  'framework/ stands as version.h | gpu_side.h | base'
red framework/device/planted.h '#include "framework/measuring/statistics.h"' 'base, device, tensor'
red framework/measuring/planted.h '#include "framework/execution/executable.h"' 'graph, execution'
red framework/io/planted.h '#include "framework/graph/graph.h"' 'io stands on base and tensor alone'
red framework/planted/planted.h '#include "framework/base/error.h"' 'has no entry planted'
red framework/base/planted.h '#include "framework/planted.h"' 'has no entry other files'
red framework/base/planted.cpp '#ifdef LENSLET_HAS_CUDA' 'needs #include "framework/gpu_side.h"'
red layers/relu/planted.cpp '#include "models/lenet5.h"' 'points up'
red models/fused_lenet5/planted.cpp '#include "models/lenet5.h"' 'models/ stands as'
red models/fused_lenet5/gpu/planted.cuh '#include "models/digit/ink.h"' 'digit | fused_lenet5 | onnx'
red models/mnist.h '#include "models/digit/ink.h"' 'models/ stands as lenet5_sizes.h'
red models/onnx/read/planted.cpp '#include "models/onnx/shape/shapes.h"' 'read, shape, import'
red models/onnx/shape/planted.h '#include "models/onnx/import/import.h"' 'read, shape, import'
red models/onnx/import/planted.h '#include "models/onnx/model_file.h"' 'import, other files'
red apps/measuring/planted.h '#include "apps/lenslet/session/session.h"' 'apps/ stands as common'
red apps/common/output/planted.h '#include "apps/measuring/measure.h"' 'common, measuring'
red apps/lenslet/planted.cpp '#include "apps/convbench/bench/study_task.h"' 'lenslet | convbench'
red apps/common/system/planted.h '#include "apps/common/results/document.h"' 'ranks, ceilings, results'
red apps/common/results/planted.h '#include "apps/common/program/run.h"' 'command_line, program'
red apps/lenslet/session/planted.h '#include "apps/lenslet/commands.h"' 'session, commands.h'
red apps/lenslet/pages/planted.h '#include "apps/lenslet/serve/pages.h"' 'apps/lenslet/ stands as'
red apps/lenslet/serve/planted.h '#include "apps/lenslet/show/planted.h"' 'apps/lenslet/ stands as'
red apps/lenslet/tune/planted.cpp '#include "apps/lenslet/bench/bench_config.h"' 'bench | classify'
red apps/lenslet/serve/protocol/planted.h '#include "apps/lenslet/serve/http/http.h"' 'protocol, batches'
red apps/lenslet/eval/planted.cpp '#include "apps/lenslet/cli.h"' 'tune, other files'
red apps/convbench/bench/planted.h '#include "apps/convbench/stencil/stencil.h"' 'session, bench, filter'
red apps/convbench/filter/planted.h '#include "apps/convbench/streams/pipeline.h"' 'separable | stencil'
red apps/convbench/streams/planted.h '#include "apps/convbench/commands/commands.h"' 'streams, commands'
red apps/planted.cpp '#include "python/src/reading.h"' 'beside the programs'
red models/planted.cpp '  #  include "apps/lenslet/anything.h"' 'points up'
red python/src/planted.cpp '#include "apps/common/output/text.h"' 'stands on api'
red python/src/planted.cpp '#include "apps/lenslet/show/planted.h"' 'stands on api'
red api/planted.cpp '#include "python/src/images.h"' 'points up'
red layers/relu/planted.cu '#include "layers/conv/conv_layer.h"' 'no such neighbour'
red layers/pairwise/planted.h '#include "layers/relu/relu_layer.h"' 'no such neighbour'
red layers/planted.h '#include "layers/pool/pool_layer.h"' 'below every layer'
red layers/conv/gpu/split_gemm/planted.cuh '#include "layers/conv/gpu/implicit_gemm/kernel.cuh"' \
  'belongs to one backend'
red layers/conv/gpu/split_gemm.cu '#include "layers/conv/gpu/winograd/kernels.cuh"' 'belongs to one backend'
red layers/conv/planted.cpp '#include "layers/conv/cpu/winograd/steps.h"' 'belongs to one backend'
red models/fused_lenet5/gpu/planted.h '#include "models/fused_lenet5/gpu/medium/layout.h"' 'belongs to one backend'
red models/fused_lenet5/gpu/cluster/stages.cuh '#include "models/fused_lenet5/gpu/small/kernel.cuh"' \
  'belongs to one backend'
red models/fused_lenet5/cpu/planted.h '#include "models/fused_lenet5/cpu/simd/kernels.h"' 'belongs to one backend'
red layers/reference/planted.cpp '#include "layers/conv/conv_backend.h"' 'the reference shares nothing'
red layers/conv/planted.cpp '#include "conv_problem.h"' 'start at the root'
red layers/conv/planted.cpp '#include "../conv/conv_problem.h"' 'start at the root'

use bash "$here/check_public_headers.sh" "$copy"
green
red framework/planted.h '#pragma once\n#include <cuda_runtime.h>' 'vendor type'
red layers/conv/planted.h '#pragma once\n#include "dnnl.hpp"' 'vendor type'
red layers/conv/planted.h '#pragma once\nvoid run(cudaStream_t stream);' 'vendor type'
red layers/conv/planted.h '/* a\n comment */ void run(cudnnHandle_t handle);' 'vendor type'
red layers/gemm/planted.h '// About. Public.\n#pragma once\n#include <dnnl.h>' 'vendor type'
red models/planted.h '// About.\n#pragma once\n#include "framework/device/cuda_check.h"' 'reaches a vendor type'
red models/planted.h '#pragma once\n__global__ void kernel();' 'vendor type'

use bash "$here/check_headers_alone.sh" "$copy" "$generated" "$cxx" -
green framework/base/error.h
red framework/planted.h '#pragma once\nstd::string text();' 'does not compile alone' framework/planted.h
red framework/planted.h 'struct Twice {};' 'redefinition' framework/planted.h
red framework/planted.h '#pragma once\ninline int narrow(int a) { int a2; return a; }' 'unused variable' \
  framework/planted.h

use bash "$here/check_data.sh" "$copy"
green
red samples/t10k-labels-idx1-ubyte 'x' 'named like an IDX file'
red docs/planted.bin '\0000\0000\0010\0001\0000\0000\0000\0001\0007' 'an IDX file by its bytes'
printf '\000\000\010\003\000\000\000\001' | gzip >"$copy/docs/planted.gz"
red docs/unrelated.txt 'text' 'an IDX file by its bytes'
rm "$copy/docs/planted.gz"
head -c 5000000 /dev/zero >"$copy/docs/large.bin"
red docs/unrelated.txt 'text' 'larger than 4 MiB'
rm "$copy/docs/large.bin"

use bash "$here/check_environment.sh" "$copy"
green
red framework/planted.cpp 'bool on = switch_setting("LENSLET_PLANTED");' 'LENSLET_PLANTED is read by the code'
red docs/planted.py 'os.environ.get("LENSLET_PLANTED")' 'LENSLET_PLANTED is read by the code'
red dev.d/test.sh 'echo "${LENSLET_PLANTED:-}"' 'LENSLET_PLANTED is read by the code'
red docs/environment.md '| `LENSLET_PLANTED` | x |' 'no code reads it'
red docs/environment.md '| `LENSLET_TRACE` | x |' 'is listed twice'

use bash "$here/check_launches.sh" "$copy"
green
red layers/planted.cu '  a_kernel<<<1, 1>>>();' 'no LENSLET_CUDA_CHECK_LAUNCH follows this launch'
red apps/planted.cuh '  a_kernel<<<1, 1>>>();\n  // LENSLET_CUDA_CHECK_LAUNCH("a_kernel");' 'follows this launch'
red framework/planted.cu '  a_kernel<<<1, 1>>>();\n  b_kernel<<<1, 1>>>();\n  LENSLET_CUDA_CHECK_LAUNCH("b_kernel");' \
  'planted.cu:1: no LENSLET_CUDA_CHECK_LAUNCH'
red layers/planted.cu '  if (few) {\n    a_kernel<<<1, 1>>>();\n  } else {\n    a_kernel<<<2, 1>>>();\n'\
'    LENSLET_CUDA_CHECK_LAUNCH("a_kernel");\n  }' 'every branch with a launch'
red layers/planted.cu '  a_kernel<<<1, 1>>>();\n  LENSLET_CUDA_CHECK_LAUNCH("");' 'names no kernel'
red layers/planted.cu '  a_kernel<kSize><<<1, 1>>>();\n  LENSLET_CUDA_CHECK_LAUNCH("b_kernel");' \
  'names b_kernel, launched was a_kernel'
red models/planted.cu '  (void)cudaLaunchKernel(kernel, 1, 1, arguments, 0, stream);' 'follows this launch'
red models/planted.cu '  LENSLET_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel));\n'\
'  LENSLET_CUDA_CHECK_LAUNCH_OF(name);' 'would name the call'
red layers/planted.cpp '  if (held)\n    cublasDestroy(handle);' 'planted.cpp:2: the status of cublasDestroy is dis'
red layers/planted.h '  ~Held() { cudaFree(data); }' 'the status of cudaFree is discarded'
red apps/planted.h '  ~Link() { MPI_Finalize(); }' 'the status of MPI_Finalize is discarded'
red layers/planted.h '  ~Owned() { Destroy(object_); }' 'the status of Destroy is discarded'
red layers/planted.cu '  if (error != cudaErrorNotReady) LENSLET_CUDA_CHECK(error);' \
  'planted.cu:1: the message of this check would name error, not the call'
red models/planted.cu '  LENSLET_CUDA_CHECK(cudaFree(a)); cudnnDestroy(b);' 'the status of cudnnDestroy is discarded'
red layers/planted.cu '  launch("rearrange_copy_kernel", &rearrange_fill_kernel<1>, 1, 1, 0, stream);' \
  'names rearrange_copy_kernel, and the kernel is rearrange_fill_kernel'
red layers/planted.cpp '  set("renamed_kernel", address, 32);' '"renamed_kernel" is no __global__ function'

use bash "$here/check_kernels.sh" "$copy"
head='// computes    y\n// work split  a thread an element\n// memory      none\n// requires    nothing\n'
kernel='template <int kSize,\n          bool kWhole>\n__global__ void planted_kernel(float* y) {}  // [1]'
green
red layers/planted.cu "$kernel" 'planted.cu:3: the head of this kernel has no line "computes"'
red models/planted.cuh "$head$kernel" 'has no line "measured"'
red apps/planted.cu "$head// measured    docs/results.md\nint between;\n$kernel" 'has no line "measured"'
measured='// measured    not measured: planted\n'
red layers/planted.cu "$head${measured}__global__ void planted_kernel(int n, const float* x) {}" 'the shape of x: '
red models/planted.cu "$head${measured}__global__ void planted_kernel(const float* x,  // [n]\n    float* y) {}" \
  'planted.cu:7: the shape of y: '
red apps/planted.cu "$head// measured    H100: 0.123 us\n//             (docs/results.md)\n$kernel" \
  'planted.cu:5: a figure without its docs'
red models/planted.cuh "$head// measured    not measured yet, docs/results/2026-11-30-h200/ladder.json\n$kernel" \
  'no "not measured: "'
red models/planted.cuh "$head// measured    not by itself: docs/results.md\n$kernel" 'no "not measured: "'
red layers/planted.cu "$head// measured    0.123 us (docs/results/2026-11-27-h100/reproduce.json)\n$kernel" \
  'no median of docs/results/2026-11-27-h100/reproduce.json is 0.123 us'
red layers/planted.cu "$head// measured    H100: 0.123 us, docs/results/2026-11-27-h100/reproduce.json\n$kernel" \
  'a figure without its docs'
red layers/planted.cu "$head// measured    9.9 ms (docs/results/2026-11-27-h100/nowhere.json)\n$kernel" \
  'there is no docs/results/2026-11-27-h100/nowhere.json'
rung='// measured    H100: docs/results.md (docs/results/2026-11-30-h200/ladder.json)'
red layers/conv/gpu/ladder/direct/42_planted.cu "$rung" 'ladder.json has no direct.42_planted'
red layers/conv/gpu/ladder/direct/42_planted.cu "${rung/H100/H100, as direct.05_planted}" \
  'ladder.json has no direct.05_planted'
red models/planted.h '// The fastest on an H100, as timed.' 'measured on a GPU'
red layers/planted.h '// The fastest on an H100, as timed; no file keeps it.' 'measured on a GPU'
red layers/planted.cu "$head// measured    no file keeps it\n$kernel" 'no "not measured: "'
red layers/planted.cu "$head// measured    see conv_winograd_multiply_kernel\n$kernel" \
  'no row launches planted_kernel too'
red layers/planted.h '// 0.123 us (docs/results/2026-11-27-h100/reproduce.json)' 'reproduce.json is 0.123 us'
red layers/planted.cuh '  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));' \
  'planted.cuh:1: asm outside framework/instructions/'
red models/planted.h '  __asm__ volatile("bar.sync 1, 64;");' 'planted.h:1: asm outside'
red apps/planted.cu '  __pipeline_commit();' 'planted.cu:1: asm outside'
sed -i 's/asm volatile/spin/' "$copy/models/fused_lenet5/spin_wait.h"
red docs/unrelated.txt 'text' 'spin_wait.h is listed for its asm and has none'
cp -p "$root/models/fused_lenet5/spin_wait.h" "$copy/models/fused_lenet5/spin_wait.h"

use bash "$here/check_integers.sh" "$copy"
green
red layers/planted.h 'void planted(int rows, int columns, int64_t stride = 1,\n             const size_t count);' \
  'planted.h:1: planted(…) takes 4 integers'
red models/planted.cpp 'const auto planted = [](unsigned a, bool b, std::size_t c, uint32_t d, int) {};' \
  'takes 4 integers'
red apps/planted.cu 'int planted(int a, int b, int c, float x, int d = f(1));' 'takes 4 integers'
red framework/planted.h 'using Planted = void (*)(int, int, int, int);' 'takes 4 integers'

use bash "$here/check_docs.sh" "$copy"
green
red README.md 'Run `./dev deploy` now.' 'there is no ./dev deploy'
red README.md '```sh\n./dev test --fast\n```' 'has no --fast'
red README.md '## Two commands\n```sh\n./dev test --cpu    # quicker\n```' '.ci/run does not run it so'
red docs/planted.md '[here](nowhere.md)' 'leads nowhere'
red docs/planted.md 'in `framework/nothing.h`' 'there is no framework/nothing.h'
red docs/planted.md '| step | file | function |\n|---|---|---|\n| 1 | `api/feed.cpp` | `Feed::run`, `Feed::fly` |' \
  'api/feed.cpp does not declare Feed::fly'
# feed.cpp calls run_first_checked(), which executable_run.cpp defines.
walk='| step | file | function |\n|---|---|---|\n'
red docs/planted.md "$walk"'| 1 | `api/feed.cpp` | `run_first_checked` |' \
  'api/feed.cpp does not declare run_first_checked'
red docs/planted.md 'such as `run_first_checked` in\n`api/feed.cpp`' 'api/feed.cpp does not declare run_first_checked'
red docs/planted.md '`Feed::deal` and `Feed::serve` (`api/feed.cpp`)' 'api/feed.cpp does not declare Feed::deal'
red docs/planted.md "$walk"'\nThen `api/feed.cpp`, `convert_pixels`.' 'api/feed.cpp does not declare convert_pixels'
red docs/planted.md 'in `api/nothing.h`' 'there is no api/nothing.h'
red docs/planted.md 'Then `Feed::fly()`, the next.' 'docs/planted.md:1: Feed has no member fly'
red docs/planted.md 'a `Nothing::at_all`' 'Nothing has no member at_all'
red layers/planted.cu '// measured   docs/kernels/direct.md, "The descent"' \
  'docs/kernels/direct.md has no heading "The descent"'
red layers/planted.h '// docs/nothing.md, "Heading"' 'there is no docs/nothing.md'
red apps/report/glossary.txt 'planted | word | docs/cli.md, Nowhere' 'docs/cli.md has no heading "Nowhere"'
if [ "${#programs[@]}" -gt 0 ]; then
  check+=("${programs[@]}")
  red docs/planted.md '```sh\nlenslet eval --fast\n```' 'lenslet eval has no --fast'
  red docs/planted.md '| flag | meaning |\n|---|---|\n| `--math fp32` | arithmetic |' "no --help has '--math fp32'"
  cp -p "$copy/docs/cli.md" "$work/cli.md"
  sed -i '/^| 130 |/d' "$copy/docs/cli.md"
  red docs/unrelated.txt 'text' "no row begins with '| 130 | interrupted'"
  mv "$work/cli.md" "$copy/docs/cli.md"
  cp -p "$copy/docs/convbench.md" "$work/convbench.md"
  sed -i '/`--boundary LIST`/d' "$copy/docs/convbench.md"
  red docs/cli.md '`--boundary LIST`' 'stencil --help: --boundary stands on no page'
  mv "$work/convbench.md" "$copy/docs/convbench.md"
else
  echo 'skipped: this build has no programs: pages were not compared with --help'
fi
red CONTRIBUTING.md '```console\n$ cmake --preset fastest\n```' 'there is no preset fastest'
red CMakeLists.txt 'option(LENSLET_PLANTED "Planted" OFF)' 'LENSLET_PLANTED stands on no page'
red packaging/CMakeLists.txt 'set(LENSLET_PLANTED "" CACHE STRING "Planted")' 'LENSLET_PLANTED stands on no page'
red docs/planted.md 'Give `-DLENSLET_PLANTED=ON`.' 'planted.md:1: CMake has no option LENSLET_PLANTED'

if command -v python3 >/dev/null 2>&1; then
  use bash "$here/check_results.sh" "$copy"
  green
  cp -p "$copy/README.md" "$work/readme"
  sed -i 's/9,963 of 10,000/9,964 of 10,000/' "$copy/README.md"
  red docs/unrelated.txt 'text' 'differ from the files'
  mv "$work/readme" "$copy/README.md"
  red docs/kernels/planted.md 'fc1 takes 9.8 µs instead of 6.9.' 'planted.md: 8 µs'
  red docs/kernels/planted.md 'conv2 takes 10 % less time.' 'planted.md: 0 % less'
  planted_file=docs/results/2026-11-27-cpu/planted
  kept='{"schema": "lenslet.tests/1", "machine": {"cpu": "a", "git": "b"}, "rows": []}'
  red "$planted_file.json" "${kept/\"b\"/null}" 'planted.json: no commit'
  red "$planted_file.json" "${kept/\"a\"/null}" 'planted.json: no machine'
  red "$planted_file.json" "${kept/\"b\"/\"b\", \"dirty\": true}" 'planted.json: of a modified tree'
  red "$planted_file.txt" '69 of 69 passed' 'planted.txt: a result is kept as JSON'
  red "$planted_file.json" "${kept/\"rows\"/\"complete\": false, \"rows\"}" 'planted.json: has a part of what'
  red docs/results/README.md '| `2026-11-27-cpu` | `gone.json` | planted |' 'there is no 2026-11-27-cpu/gone.json'
  use python3 "$root/tests/mutate/mutate.py" check "$copy"
  green
  red framework/measuring/statistics.cpp '// fraction * static_cast<double>(sorted.size() - 1);' 'stands 2 times'
else
  echo 'skipped: python3 is not installed (./dev setup --tests): results and planted faults were not checked'
fi

if [ -n "$nvcc" ]; then
  use bash "$here/check_architectures.sh" "$copy" "$nvcc"
  green
  red framework/CMakeLists.txt 'set_property(SOURCE device/runtime_cuda.cpp PROPERTY COMPILE_DEFINITIONS '\
'"LENSLET_CUDA_ARCHITECTURES=\\"80-real\\"")' 'does not list its architectures'
else
  echo 'skipped: no nvcc: the check of the architectures was not tried'
fi

# Checks that read every file run in a tree with few files.
copy=$work/small
mkdir "$copy"
(cd "$root" && tar -cf - dev dev.d .clang-format pyproject.toml README.md CONTRIBUTING.md CHANGELOG.md CMakeLists.txt \
  framework/base/error.h models/fused_lenet5/resident_none.cpp) | tar -xf - -C "$copy"
mkdir -p "$copy"/{layers,api,apps,python,weights,samples,docs/results,tests,cmake,packaging,.ci}

use bash "$here/check_words.sh" "$copy"
green
red framework/planted.h 'bool is_relu();' 'names a kind of layer'
red framework/io/planted.cpp 'struct Lenet5Reader {};' 'or a model'
red framework/planted.h 'struct Prediction { int label; };' 'the answer of a classifier'
red framework/planted.h 'return "prediction";' 'the answer of a classifier'
red framework/planted.cpp '// The output of a classifier.' 'the answer of a classifier'
red framework/planted.cpp 'throw UsageError("leave out --math");' 'an option of a command line'
red apps/planted.h 'class ConvContender;' 'contender.*candidate'
red tests/planted.cpp 'for (auto& rival : all)' 'rival.*candidate'
red docs/planted.md 'the memory plan' 'memory layout'
red framework/planted.h 'float* fp32_halves = nullptr;' 'pair_values'
red docs/planted.md 'the unprofiled pass' 'uninstrumented'
red api/planted.h 'class Normalization;' 'normaliz'
red models/planted.cpp 'stream.synchronize();' 'synchroniz'
red layers/planted.cuh 'int color = 0;' 'colour'
red models/planted.inc 'int color = 0;' 'colour'
red framework/planted.inc 'bool is_relu();' 'names a kind of layer'
red apps/planted.js '// its behavior' '-our'
red apps/planted.css '/* gray */' 'grey'
red apps/planted.py '# its behavior' '-our'
red docs/planted.md 'the gray center' 'grey'
red layers/planted.h '// the bytes beh''ind it' 'after, or past the end'
red layers/planted.h 'bool serves(const Conv2dProblem& problem);' 'supports'
red layers/planted.cuh 'inline bool strips_serve(const Conv2dProblem& problem);' 'supports'
red python/planted.py 'entry["serves"] = True' 'supports'
red api/planted.h '// A variant of the fused plan.' 'whole-network'
red docs/planted.md 'times every whole-network variant' 'whole-network backend'
red layers/planted.h 'constexpr int kMo''stRows = 2;' 'max and min'
red layers/planted.h 'constexpr int kMo''st = 2;' 'max and min'
red api/planted.h 'int le''ast_ = 2;' 'max and min'
red apps/planted.py 'MO''ST_ROWS = 2' 'max and min'
red api/planted.cpp 'const int mo''st = 2;  // rows' 'a limit is called max or min'
red layers/planted.cu '/* a\n  head */ int le''ast = "\\"most"[0];' 'planted.cu:2: a limit'
red apps/planted.js 'const mo''stGroups = 16;' 'a limit'
red models/planted.h 'int rows_at(int group, int row_le''ast);' 'a limit'
red weights/planted.py '"""Not\n\nmost."""\nle''ast = 3  # words' 'planted.py:4: a limit'
red tests/planted.sh 'le''ast=3' 'a limit'
red apps/lenslet/serve/planted.cpp 'int64_t mo''st = 2;' 'a limit'
red apps/peers/planted.py 'mo''st = 2' 'a limit'
red cmake/planted.cmake 'set(mo''st 12)' 'a limit'
red dev 'le''ast=3' 'a limit'
red layers/planted.cu 'constexpr int kFewe''stRows = 2;' 'a limit'
red models/planted.h 'constexpr int kLarge''st = 2, kSecond = 1;' 'a limit'
red apps/planted.py 'SMALLE''ST = 2' 'a limit'
red tests/planted.cpp 'if (n > kLonge''st) return;' 'a limit'
red dev.d/planted.sh '# its behavior' '-our'
red packaging/planted.cmake '# its behavior' '-our'
red CHANGELOG.md 'A new behavior of `normalize`.' '-our'
red layers/planted.cu 'return Support::no("this card has none");' 'a card is a GPU'
red apps/planted.cpp 'constexpr char kHelp[] = R"(Prints\nwhat the card has.)";' 'planted.cpp:2: a card'
red apps/planted.py 'print(f"two cards: {names}")  # a model card' 'a card is a GPU'
red layers/planted.cu '// The limits of one card.' 'in sources a card is a GPU'
red models/planted.h 'struct GpuCard {};' 'in sources a card is a GPU'
red tests/planted.cpp 'int card_of_rank(int rank);' 'in sources a card is a GPU'
red dev '  ./dev bench [--name CARD]' 'in scripts and their help a card is a GPU'
red tests/mutate/planted.py 'help="programs at a time [one a card]"' 'in scripts and their help'
red docs/planted.md 'with `--place resident` only' 'device, the place'
red apps/planted.py '"""The resident rows."""' 'device, the place'
red docs/planted.md 'A `resident` row, with the resident batch.' 'device, the place'
red models/planted.h '/// A persistent kernel.' 'resident kernel'
red apps/planted.h '// The fp64 judge.' 'fp64 reference'
red docs/planted.md 'Held to the fp64 judge.' 'fp64 reference'
red README.md 'On your card.' 'README.md:[0-9]*: on a page a card is a GPU'
red docs/planted.md 'This model\ncard, `cards.h`, and\ntwo cards.' 'planted.md:3: on a page a card'
red weights/planted.md '| Card | H100 |' 'on a page a card is a GPU'
red api/planted.cpp 'void demand_gpu(Device device) {' 'refuses what is wrong is a check_'
red models/planted.h '  require(count > 0, "some");' 'refuses what is wrong is a check_'
red layers/planted.cpp 'problem.validate();' 'refuses what is wrong is a check_'
red tests/planted.cu '  DEMAND(count == 1);' 'refuses what is wrong is a check_'
red weights/planted.py 'def ensure_file(path):' 'refuses what is wrong is a check_'
red apps/planted.js 'requireShape(node);' 'refuses what is wrong is a check_'
red cmake/planted.cmake 'function(lenslet_demand_file file)' 'refuses what is wrong is a check_'
red dev.d/planted.sh 'require_tool() { :; }' 'refuses what is wrong is a check_'
red layers/planted.h 'Support check_shape(const Shape& shape);' 'returns a verdict has another name'
red apps/planted.cpp 'std::string Judge::check(int round) {' 'returns a verdict has another name'
red layers/planted.cpp 'int parts = (count + part_size - 1) / part''_size;' 'ceil_div'
red api/planted.h 'size_t n = (bytes + sizeof(float) - 1) / sizeof''(float);' 'ceil_div'
red layers/planted.h 'int64_t stored = ceil_div(outputs_, kUnit) * k''Unit;' 'round_up'
red apps/lenslet/candidates/planted.h 'class BatchPictures;' 'a picture is a file'
red apps/lenslet/bench/planted.cpp 'line("pictures: ", count);' 'a picture is a file'
red apps/lenslet/tune/planted.cpp '// Three pictures.' 'a picture is a file'
red apps/peers/planted.c '/* one picture */' 'a picture is a file'
red models/onnx/import/planted.cpp 'Shape picture = x;' 'a picture is a file'
red layers/pool/planted.h 'int kernel_h = 2;' 'a pooling windows'
red layers/planted.cuh '// Every kernel size.' 'a convolution has filters'
red docs/planted.md 'for 3×3 kernels' 'a convolution has filters'
red tests/planted.cpp '"the kernel does not fit"' 'a convolution has filters'
red apps/planted.cpp 'constexpr int kKernel = 3;' 'kFilter'
red layers/planted.cu 'constexpr int kKernelSize = 3;' 'kFilter'
red tests/planted.cpp 'TEST_F(Reader, Te''llsWhatIsMissing) {' 'code is not a person'
red tests/planted.cu 'TEST(Reader, Stops''WhenAsk''ed) {' 'code is not a person'
red python/planted.py '    def test_a_model_sa''ys_what_it_is(self):' 'code is not a person'
red layers/planted.h '/// Te''lls the caller which layer failed.' 'code is not a person'
red dev.d/planted.sh 'die "git kn''ows no such commit"' 'code is not a person'
red docs/planted.md 'The file sa''ys which.' 'code is not a person'
red apps/planted.h '// Throws as the protocol dema''nds.' 'code is not a person'
red layers/planted.cpp '// The system does not kn''ow it.' 'code is not a person'
red packaging/planted.cmake '# Loaded when it is first as''ked for.' 'code is not a person'
red docs/planted.md 'What the judge as''ks of it.' 'code is not a person'

use bash "$here/check_text.sh" "$copy"
red framework/planted.cpp '// TO''DO later' 'tracker'
red docs/planted.md 'see /wo''rk/anything' 'a path of one machine'
red docs/results/planted.json '{"path": "/wo''rk/library.so"}' 'a path of one machine'
red layers/planted.cu 'LENSLET_CUDA_CHECK(cuda''GetLastError());' 'must name its kernel'
red framework/planted.h '// No''body reads it.' 'name the actor'
red layers/planted.cpp '  /// O''f all elements.' 'begins with its noun'
red apps/planted.h '// Tho''se read before.' 'begins with its noun'
red api/planted.h '/// Th''eir names.' 'begins with its noun'
red models/planted.h 'int a; ' 'at the end of a line'
red models/planted.inc 'int a; ' 'at the end of a line'
red apps/planted.js 'let a; ' 'at the end of a line'
red apps/planted.css '/* TO''DO later */' 'tracker'
red tests/planted_test.cpp '#include "no.h"' 'begin with a comment'
red framework/planted.h '#pragma once' 'begin with a comment'
for name in framework/planted.h apps/planted.cu tests/planted.c docs/planted.awk python/planted.py tests/planted.sh \
  dev.d/planted.sh dev apps/planted.js apps/planted.css cmake/planted.cmake; do
  red "$name" "# $(printf 'x%.0s' {1..119})" 'a line above 120 columns'
done
red docs/planted.md "$(printf '×%.0s' {1..141})" 'a line of prose above 140 columns'
red README.md "\`\`\`sh\n\`\`\`\n- $(printf 'x%.0s' {1..139})" 'a line of prose above 140 columns'
red tests/planted.c '// TO''DO later' 'tracker'
red docs/planted.awk '# TO''DO later' 'tracker'
red tests/planted.sh '#!/bin/sh\nif true; then' 'syntax error'
red tests/planted.sh 'ls | grep -''q name' 'may then report SIGPIPE'
red dev.d/setup.sh 'if true; then' 'syntax error'
if command -v shellcheck >/dev/null 2>&1; then
  red dev.d/setup.sh 'planted() { ls $1; }' 'SC2086'
else
  echo 'skipped: shellcheck is not installed (./dev setup --tests): the check of scripts was not tried'
fi

# It finds the headers itself, and leaves out those that the build compiled alone and those of a vendor that is not
# there: in a tree of three, with a build of its own.
small=$copy copy=$work/few
mkdir -p "$copy"/{framework,layers,models,api} "$copy/build/generated"
printf '#pragma once\nstd::string text();\n' >"$copy/api/built.h"  # would not compile alone
printf '#include "api/built.h"\n' >"$copy/api/built.cpp"
printf '#pragma once\n' >"$copy/models/not_built.h"
printf '#pragma once\n#include <driver_types.h>\n#if 1\n#error not left out\n#endif\n' >"$copy/layers/vendor.h"
# A compiler that finds no CUDA toolkit, wherever that is.
printf '#!/bin/sh\ncase "$*" in *fsyntax-only*) exit 1 ;; esac\nexec "%s" "$@"\n' "$cxx" >"$work/cxx"
chmod +x "$work/cxx"
# built_with FLAGS: what CMake writes for a source that was compiled with them.
built_with() {
  printf '[\n{\n  "directory": "%s",\n  "command": "c++ %s -std=c++17 -o built.o -c %s",\n  "file": "%s"\n}\n]\n' \
    "$copy/build" "$1" "$copy/api/built.cpp" "$copy/api/built.cpp" >"$copy/build/compile_commands.json"
  touch "$copy/build/built.o"
}
warnings='-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror'
sleep 0.02  # the object must be newer than its source
use bash "$here/check_headers_alone.sh" "$copy" "$copy/build/generated" "$work/cxx" -
built_with "-DNDEBUG $warnings"
green
red models/planted.h '#pragma once\n#include "no/such.h"' 'no/such.h'
red api/built.h '// newer than the object' 'string'
red api/built.cpp '// newer than the object' 'string'
built_with "-DNDEBUG $warnings -include pch.hxx"
red models/planted.h '#pragma once' 'string'
built_with "-DNDEBUG -DOTHER $warnings"
red models/planted.h '#pragma once' 'string'
built_with '-DNDEBUG -Wall'
red models/planted.h '#pragma once' 'string'
built_with "-DNDEBUG $warnings"
printf 'int f();\n' >"$copy/api/first.h"
printf '#include "api/first.h"\n#include "api/built.h"\n' >"$copy/api/built.cpp"
sleep 0.02
touch "$copy/build/built.o"
red models/planted.h '#pragma once' 'string'
copy=$small

use bash "$here/check_commits.sh" "$work/history" HEAD~1
if command -v git >/dev/null 2>&1; then
  commit() { git -C "$work/history" -c user.name=a -c user.email=a@b commit --quiet --allow-empty "$@"; }
  git init --quiet "$work/history"
  commit -m 'Begin'
  commit -m "$(printf 'x%.0s' {1..71})"
  green
  commit -m "$(printf 'é%.0s' {1..72})"
  planted=$((planted + 1))
  if "${check[@]}" >"$work/out" 2>&1 || ! grep -q 'a subject of 72 characters' "$work/out"; then
    echo 'FAILED: a subject of 72 characters passes'
    failed=1
  fi
  planted=$((planted + 1))
  if bash "$here/check_commits.sh" "$work/history" nonesuch >"$work/out" 2>&1; then
    echo 'FAILED: subjects that git could not list pass'
    failed=1
  fi
else
  echo 'skipped: git is not installed (./dev setup --tests): the check of commits was not tried'
fi

if command -v clang-format-14 >/dev/null 2>&1; then
  # The copy takes the ruff of this tree, or each run would install its own.
  if [ -e "$root/build/lint/venv/installed.txt" ]; then
    mkdir -p "$copy/build/lint"
    ln -s "$root/build/lint/venv" "$copy/build/lint/venv"
  fi
  use bash "$here/check_format.sh" "$copy"
  green
  red models/planted.cpp 'int   f( ){return 0 ;}' 'models/planted.cpp: differs'
  red models/planted.inc 'int   f( ){return 0 ;}' 'models/planted.inc: differs'
  if [ -x "$copy/build/lint/venv/bin/ruff" ] || command -v ruff >/dev/null 2>&1; then
    red apps/planted.py 'x = {  "a": 1}' 'apps/planted.py: differs'
    red tests/planted.py 'def f(:' 'tests/planted.py:1:7: invalid-syntax'
    red docs/planted.ipynb '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null,'\
' "source": ["x=1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}' 'planted.ipynb'
    use bash -c 'cd "$1" && . dev.d/packages.sh && . dev.d/log.sh && . dev.d/format.sh && . dev.d/lint.sh &&
      check_python' check_python "$copy"
    green
    red apps/planted.py 'import os' 'F401'
    red tests/planted.py 'print(undefined)' 'F821'
    red weights/planted.py 'def f(x=[]):\n    return x' 'B006'
    red python/planted.py 'import sys\nimport os\n\nprint(os, sys)' 'I001'
  else
    echo 'skipped: ruff is not installed (./dev format installs it): the checks of Python were not tried'
  fi
else
  echo 'skipped: clang-format 14 is not installed (./dev setup --tests): the format check was not tried'
fi

finish
