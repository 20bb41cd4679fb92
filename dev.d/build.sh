# shellcheck shell=bash
# ./dev build, and the build steps of other commands

# One job per core, fewer if memory is short: a translation unit with CUDA or CLI11 takes up to 1.5 GiB.
jobs() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || true)
  if [ -n "${memory_gib:-}" ] && [ "$memory_gib" -lt "$cores" ]; then cores=$memory_gib; fi
  [ "$cores" -ge 1 ] || cores=1
  printf '%s\n' "${LENSLET_JOBS:-$cores}"
}

preset=${LENSLET_PRESET:-release}
# Parses one of WHICH's options and sets `taken` to the number of words; returns 1 if the first word is not one.
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
  local known
  known=$(<CMakePresets.json)
  [[ $known == *"{ \"name\": \"$preset\", \"configurePreset\": "* ]] ||
    usage_error "CMakePresets.json has no preset '$preset'"
}

has_gpu() {
  has_program nvidia-smi && nvidia-smi -L >/dev/null 2>&1
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

# Lets copies of the tree and build folders share objects: the cache sees paths below the tree relative to the build
# folder. The compiler's list of dependencies names what a file includes, so that no file is preprocessed twice. The
# last line lets it keep the precompiled header of the tests, and what was compiled with it.
share_compiler_cache() {
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
  export CCACHE_DEPEND=${CCACHE_DEPEND:-1}
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
}

# A build folder configured without ccache stays without it, or each of its objects would be compiled again.
takes_ccache() {
  local cache=build/$preset/CMakeCache.txt
  has_program ccache || return 1
  [ ! -e "$cache" ] || grep '^CMAKE_CXX_COMPILER_LAUNCHER:[A-Z]*=.' "$cache" >/dev/null
}

configured=''  # the preset that this call of ./dev configured

# configure [CMAKE OPTIONS…]
configure() {
  local options=() nvcc cuda=AUTO
  check_preset  # also those of LENSLET_PRESET
  if takes_ccache; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    share_compiler_cache
  fi
  case $preset in
    cpu | ci-cpu | asan | tsan | fuzz) ;;
    *)
      if ! nvcc=$(find_nvcc); then
        ! has_gpu || say 'found an NVIDIA GPU, but no CUDA toolkit (nvcc): building only the CPU side'
      elif [ "$preset" = release ] && ! has_gpu; then
        # Seven architectures would take a quarter of an hour, and this machine could run none of them.
        say "CUDA toolkit $nvcc, but no NVIDIA GPU: building only the CPU side (--cuda builds the GPU side too)"
        cuda=OFF
      else
        say "CUDA toolkit: $nvcc"
      fi
      ;;
  esac
  # build/release chooses each time, because a GPU may be added or removed.
  [ "$preset" != release ] || options+=("-DLENSLET_CUDA=$cuda")
  open_log
  say "configuring build/$preset (details: $log)"
  logged cmake --preset "$preset" "${options[@]}" "$@" || log_die "CMake could not configure build/$preset"
  configured=$preset
}

# build TARGETS [CMAKE OPTIONS…]; TARGETS is "all" or a list.
build() {
  local targets=$1 warnings
  [ "$configured" = "$preset" ] || configure "${@:2}"
  say "building build/$preset with $(jobs) jobs"
  export NINJA_STATUS='[%f/%t] '
  # shellcheck disable=SC2086  # a list of targets
  logged cmake --build "build/$preset" --parallel "$(jobs)" --target $targets ||
    log_die "the build in build/$preset failed"
  warnings=$(grep -cE '[ :]warning[ :#]' "$log") || return 0
  say "lines with warnings: $warnings (see $log)"
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
      usage_error "build: unknown option '$1'"
    fi
  done
  setup_if_needed
  build all "${options[@]}"
  say "built: build/$preset/bin/lenslet"
}
