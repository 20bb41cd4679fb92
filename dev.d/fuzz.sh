# shellcheck shell=bash
# ./dev fuzz

# Packages that ./dev fuzz needs in addition to those of a build.
readonly fuzzing=(
  'program clang++|clang'
  'program python3|python3'
)

# The sanitizers' runtime, of clang's version; some systems have it in a package of its own.
has_clang_runtime() {
  printf 'int main() {}\n' | "$1" -fsanitize=fuzzer-no-link,address,undefined -x c++ - -o /dev/null 2>/dev/null
}

cmd_fuzz() {
  local options=()
  while [ "$#" -gt 0 ]; do
    case $1 in
      --seconds | --jobs | --json)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        [ "$1" = --json ] || whole_number "$1" "$2"
        options+=("$1" "$2")
        shift
        ;;
      --merge) options+=("$1") ;;
      -*) usage_error "fuzz: unknown option '$1'" ;;
      *)
        [ -f "tests/fuzz/${1}_target.cpp" ] || usage_error "fuzz has no target '$1': docs/fuzzing.md lists them"
        options+=("$1")
        ;;
    esac
    shift
  done
  setup_if_needed
  install_missing required "${fuzzing[@]}"
  local runtime
  runtime=libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev
  install_missing optional "clang_runtime clang++|$runtime"
  has_clang_runtime clang++ || die "clang++ lacks the sanitizers' runtime: install $runtime (Debian)"
  preset=fuzz
  build fuzzers -DLENSLET_BUILD_TESTS=ON
  python3 tests/fuzz/run.py build/fuzz "${options[@]}"
}
