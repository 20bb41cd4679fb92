# shellcheck shell=bash
# ./dev lint

# The checks of tests/tree that need no build.
readonly lint_checks=(text words includes public_headers launches kernels environment data)

# check_python: what ruff finds; pyproject.toml has the rules. cmd_format said so if there is no ruff.
check_python() {
  local python_files
  find_python_files
  [ "${#python_files[@]}" -gt 0 ] && setup_ruff || return 0
  "$ruff" check --quiet --output-format concise --force-exclude "${python_files[@]}"
}

# tidy BUILD SOURCES…: runs clang-tidy on each, as many at a time as cores. After --seconds it starts no further file,
# and returns 1: a file that was not read has not passed.
tidy() {
  local folder=$1 tool now deadline='' status=0 left=()
  shift
  if ! tool=$(find_clang tidy); then
    say "skipped: clang-tidy $clang_major is not installed (./dev setup --tests)"
    return 0
  fi
  say "clang-tidy on $# sources"
  [ "$#" -gt 0 ] || return 0
  # Without the compiler's precompiled header, which clang cannot read.
  ninja -C "$folder" -t compdb |
    sed 's| -Winvalid-pch -include [^ ]*/cmake_pch\.hxx||' >"$folder/lint/compile_commands.json"
  printf -v now '%(%s)T' -1
  [ -z "$seconds" ] || deadline=$((now + seconds))
  : >"$folder/lint/left"
  # Without a finding the output is dropped: it has only the number of suppressed warnings.
  # shellcheck disable=SC2016  # the inner shell expands it
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(jobs)" bash -c '
    printf -v now "%(%s)T" -1
    if [ -n "$3" ] && [ "$now" -ge "$3" ]; then
      printf "%s\n" "$4" >>"$2/left"
      exit
    fi
    found=$("$1" --quiet -p "$2" "$4" 2>&1) && exit
    printf "%s\n" "$found"
    exit 1' tidy "$tool" "$folder/lint" "$deadline" || status=1
  mapfile -t left <"$folder/lint/left"
  if [ "${#left[@]}" -gt 0 ]; then
    say "clang-tidy had no time left for ${#left[@]} files (./dev lint without --seconds reads them): ${left[*]}"
    status=1
  fi
  return "$status"
}

# check_tools: what --strict requires of the machine.
check_tools() {
  local missing=()
  find_clang tidy >/dev/null || missing+=("clang-tidy $clang_major")
  has_program shellcheck || missing+=(shellcheck)
  setup_ruff || missing+=(ruff)
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "--strict: not installed: ${missing[*]}"
  return 1
}

cmd_lint() {
  local base=() seconds='' all=no strict=no failed=() check start sources folder which=(--sources)
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --all) all=yes ;;
      --strict) strict=yes ;;
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
  setup_ruff || true  # cmd_format reports it
  (cmd_format --check) || failed+=(format)
  check_python || failed+=(python)
  for check in "${lint_checks[@]}"; do
    bash "tests/tree/check_$check.sh" "$root" || failed+=("$check")
  done
  setup_if_needed --tests
  [ "$strict" = no ] || check_tools || failed+=(tools)
  if start=$(python3 dev.d/affected.py "${base[@]}" --start); then
    bash tests/tree/check_commits.sh "$root" "$start" || failed+=(commits)
  elif [ "${#base[@]}" -gt 0 ]; then
    exit 1
  elif [ "$strict" = yes ]; then
    failed+=(commits)
  else
    say 'skipped: the subjects of commits, since what changed is unknown (a copy without git or with one commit)'
  fi
  # Sources include what a build generates. clang-tidy needs a command for each source, which joined ones lack.
  build lenslet_programs -DLENSLET_BUILD_TESTS=ON -DLENSLET_FAST_FIRST_BUILD=OFF
  folder=build/$preset
  mkdir -p "$folder/lint"
  [ "$all" = no ] || which=(--all-sources)
  if sources=$(python3 dev.d/affected.py --build "$folder" "${base[@]}" "${which[@]}"); then
    # shellcheck disable=SC2086  # a list of paths without blanks
    tidy "$folder" $sources || failed+=(clang-tidy)
  elif [ "$strict" = yes ] || [ "$all" = yes ] || [ "${#base[@]}" -gt 0 ]; then
    failed+=(clang-tidy)  # affected.py printed why
  else
    say 'skipped: clang-tidy, since what changed is unknown (a copy without git or with one commit)'
  fi
  [ "${#failed[@]}" -eq 0 ] || die "lint found faults: ${failed[*]}"
  say 'lint found nothing'
}
