# shellcheck shell=bash
# ./dev lint

# The checks of tests/tree that need no build.
readonly lint_checks=(text words includes public_headers launches kernels environment data)

# tidy BUILD SOURCES…: runs clang-tidy on each; after --seconds starts no further file, and lists the rest.
tidy() {
  local folder=$1 tool source began=$SECONDS status=0 left=()
  shift
  if ! tool=$(find_clang tidy); then
    say "skipped: clang-tidy $clang_major is not installed (./dev setup --tests)"
    return 0
  fi
  say "clang-tidy on $# changed sources"
  # Without the compiler's precompiled header, which clang cannot read.
  ninja -C "$folder" -t compdb |
    sed 's| -Winvalid-pch -include [^ ]*/cmake_pch\.hxx||' >"$folder/lint/compile_commands.json"
  for source in "$@"; do
    if [ -n "$seconds" ] && [ $((SECONDS - began)) -ge "$seconds" ]; then
      left+=("$source")
      continue
    fi
    # stderr has only the number of suppressed warnings; it is dropped if there is no finding.
    "$tool" --quiet -p "$folder/lint" "$source" 2>"$folder/lint/stderr" || { cat "$folder/lint/stderr" >&2; status=1; }
  done
  [ "${#left[@]}" -eq 0 ] || say "skipped: clang-tidy had no time left for ${#left[@]} files: ${left[*]}"
  return "$status"
}

cmd_lint() {
  local base=() seconds='' failed=() check sources folder
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --base | --seconds)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        if [ "$1" = --base ]; then
          base=(--base "$2")
        else
          whole_number "$1" "$2" 0
          seconds=$2
        fi
        shift
        ;;
      *) usage_error "lint: unknown option '$1'" ;;
    esac
    shift
  done
  (cmd_format --check) || failed+=(format)
  for check in "${lint_checks[@]}"; do
    bash "tests/tree/check_$check.sh" "$root" || failed+=("$check")
  done
  setup_if_needed --tests
  # Sources include what a build generates. clang-tidy needs a command for each source, which joined ones lack.
  build lenslet_programs -DLENSLET_BUILD_TESTS=ON -DLENSLET_FAST_FIRST_BUILD=OFF
  folder=build/$preset
  mkdir -p "$folder/lint"
  if sources=$(python3 dev.d/affected.py --build "$folder" "${base[@]}" --sources); then
    # shellcheck disable=SC2086  # a list of paths without blanks
    tidy "$folder" $sources || failed+=(clang-tidy)
  elif [ "${#base[@]}" -gt 0 ]; then
    exit 1
  else
    say 'skipped: clang-tidy, since what changed is unknown (a copy without git or with one commit)'
  fi
  [ "${#failed[@]}" -eq 0 ] || die "lint found faults: ${failed[*]}"
  say 'lint found nothing'
}
