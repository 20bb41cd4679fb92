# shellcheck shell=bash
# ./dev build, and what other commands build

# One job a core, fewer where memory is short: a translation unit of CUDA or CLI11 takes up to 1.5 GiB.
jobs() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || true)
  if [ -n "${memory_gib:-}" ] && [ "$memory_gib" -lt "$cores" ]; then cores=$memory_gib; fi
  [ "$cores" -ge 1 ] || cores=1
  printf '%s\n' "${LENSLET_JOBS:-$cores}"
}

preset=${LENSLET_PRESET:-release}
# Takes one of WHICH's options off the arguments of a command; returns 1 for another. Sets `taken`.
taken=0
take_which() {
  taken=1
  case $1 in
    --cpu) preset=cpu ;;
    --cuda) preset=cuda ;;
    --preset)
      [ "$#" -ge 2 ] || usage_error '--preset needs a name'
      preset=$2 taken=2
      ;;
    --preset=*) preset=${1#*=} ;;
    *) return 1 ;;
  esac
  check_preset
}

check_preset() {
  grep -q "\"name\": \"$preset\"" CMakePresets.json || usage_error "CMakePresets.json has no preset '$preset'"
}

find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" "${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    if [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# What one copy of the tree compiled serves another, and one build folder what another compiled: paths below the tree count
# from the build folder.
share_compiler_cache() {
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
}

# build TARGETS [CMAKE OPTIONS…]; TARGETS is "all" or a list.
build() {
  local targets=$1 options=() nvcc
  shift
  check_preset  # LENSLET_PRESET's too
  if has_program ccache; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    share_compiler_cache
  fi
  if nvcc=$(find_nvcc); then
    case $preset in
      cpu | asan | tsan | fuzz) ;;
      *) say "CUDA toolkit: $nvcc" ;;
    esac
  elif has_program nvidia-smi && nvidia-smi -L >/dev/null 2>&1; then
    say 'an NVIDIA GPU is here, but no CUDA toolkit (nvcc): building for the CPU alone'
  fi
  say "configuring build/$preset"
  cmake --preset "$preset" "${options[@]}" "$@" || die "CMake could not configure build/$preset (its own words are above)"
  say "building build/$preset with $(jobs) jobs"
  # shellcheck disable=SC2086  # a list of targets
  cmake --build "build/$preset" --parallel "$(jobs)" --target $targets || die "the build in build/$preset failed"
}

cmd_build() {
  local options=()
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
    elif [ "$1" = -- ]; then
      shift
      options=("$@")
      break
    else
      usage_error "build does not know '$1'"
    fi
  done
  setup_if_needed
  build all "${options[@]}"
  say "built: build/$preset/bin/lenslet"
}
