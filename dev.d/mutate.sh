# shellcheck shell=bash
# ./dev mutate

cmd_mutate() {
  local side='' named='' build_only='' run='' list=no filter=() options=() run_options=() targets folder
  [ -z "${LENSLET_PRESET:-}" ] || named=$LENSLET_PRESET
  while [ "$#" -gt 0 ]; do
    case $1 in
      --cpu) side=cpu ;;
      --cuda) side=gpu ;;
      --list) list=yes ;;
      --preset | --preset=*)
        take_which "$@"
        named=$preset
        [ "$taken" -eq 1 ] || shift
        ;;
      --filter | --jobs | --json | --build-only | --run | --gpus)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
          --filter) filter=("$1" "$2") ;;
          --jobs)
            whole_number "$1" "$2"
            LENSLET_JOBS=$2 run_options+=("$1" "$2")
            ;;
          --json) options+=("$1" "$2") ;;
          --gpus)
            whole_number "$1" "$2"
            run_options+=("$1" "$2")
            ;;
          --build-only) build_only=$2 ;;
          --run) run=$2 ;;
        esac
        shift
        ;;
      *) usage_error "mutate: unknown option '$1'" ;;
    esac
    shift
  done
  has_program python3 || die 'mutate needs python3 (apt-get install python3)'
  local script=(python3 tests/mutate/mutate.py)
  if [ "$list" = yes ]; then
    "${script[@]}" list "${filter[@]}"
    return
  fi
  check_mnist_dir
  if folder=$(mnist_folder); then export LENSLET_MNIST_DIR=$folder; fi
  if [ -n "$run" ]; then
    "${script[@]}" run "$run" "${filter[@]}" "${run_options[@]}" "${options[@]}"
    return
  fi
  if [ -z "$side" ]; then
    side=cpu
    if has_gpu && find_nvcc >/dev/null; then side=gpu; fi
  fi
  preset=cpu
  if [ "$side" = gpu ]; then preset=${named:-cuda}; fi
  "${script[@]}" check >/dev/null
  setup_if_needed --tests
  local cmake_options=(-DLENSLET_BUILD_TESTS=ON "-DLENSLET_TEST_SOURCE_DIR=$root")
  # The architecture of this machine's GPUs is enough.
  if [ "$side" = gpu ] && [ -z "$named" ] && has_gpu; then cmake_options+=(-DCMAKE_CUDA_ARCHITECTURES=native); fi
  targets=$("${script[@]}" targets --side "$side" "${filter[@]}")
  # Tests of the Python package run where they were built.
  [ -z "$build_only" ] || targets=${targets/lenslet_python/}
  if [[ " $targets " == *' lenslet_python '* ]]; then
    local python=build/python/venv/bin/python
    "$python" -c 'import nanobind, pytest' 2>/dev/null ||
      die 'faults of the Python package need its environment: run ./dev python first, or choose others by --filter'
    cmake_options+=(-DLENSLET_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$root/$python"
      "-Dnanobind_DIR=$("$python" -m nanobind --cmake_dir)")
  fi
  "${script[@]}" copy build/mutate
  export CCACHE_BASEDIR=$root/build/mutate CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  if [ -n "$targets" ]; then
    (cd build/mutate && build "$targets" "${cmake_options[@]}")
  fi
  local where=(--side "$side" --tree build/mutate --build "build/mutate/build/$preset" --jobs "$(jobs)" "${filter[@]}")
  if [ -n "$build_only" ]; then
    "${script[@]}" build "${where[@]}" --to "$build_only"
  else
    "${script[@]}" judge "${where[@]}" "${options[@]}"
  fi
}
