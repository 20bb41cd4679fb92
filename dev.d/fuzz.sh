# shellcheck shell=bash
# ./dev fuzz

# Packages that ./dev fuzz needs in addition to those of a build.
readonly fuzzing=(
  'program clang++|clang'
  'program python3|python3'
)

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
  printf 'int main() {}\n' | clang++ -fsanitize=fuzzer-no-link,address,undefined -x c++ - -o /dev/null 2>/dev/null ||
    die "clang++ lacks the sanitizers' runtime: install libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev (Debian)"
  preset=fuzz
  build fuzzers -DLENSLET_BUILD_TESTS=ON
  python3 tests/fuzz/run.py build/fuzz "${options[@]}"
}
