# shellcheck shell=bash
# ./dev format

# find_clang format|tidy: prints the tool of the major version that formats and lints the tree.
find_clang() {
  local candidate
  for candidate in "clang-$1-$clang_major" "clang-$1"; do
    if has_program "$candidate" && "$candidate" --version | grep -E "version $clang_major\." >/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# Sets `ruff` to the formatter and linter of Python, of the version in dev.d/requirements.txt. If PATH has another or
# none, pip installs it. Returns 1 if that fails, and does not try again.
ruff=''
setup_ruff() {
  [ "$ruff" != none ] || return 1
  [ -z "$ruff" ] || return 0
  local names=dev.d/requirements.txt venv=build/lint/venv version
  version=$(sed -n 's/^ruff==/ruff /p' "$names")
  if has_program ruff && [ "$(ruff --version)" = "$version" ]; then
    ruff=ruff
    return 0
  fi
  [ -x "$venv/bin/ruff" ] ||
    install_missing optional 'program python3|python3' 'python_module ensurepip|python3-venv'
  ruff=none
  install_from_pypi "$venv" "$names" python3 || return 1
  ruff=$venv/bin/ruff
}

# Sets `python_files`; those that programs write are excluded in pyproject.toml.
find_python_files() {
  mapfile -t python_files < <(find api apps cmake dev.d docs framework layers models packaging python samples tests \
    weights -type f \( -name '*.py' -o -name '*.pyi' -o -name '*.ipynb' \) 2>/dev/null | sort)
}

# check_or_write_cpp yes|no: with clang-format. Returns 1 if files differ.
check_or_write_cpp() {
  local check=$1 tool files=() differing status=0
  if ! find_clang format >/dev/null && has_program apt-get; then
    install_missing required "program clang-format-$clang_major|clang-format-$clang_major"
  fi
  tool=$(find_clang format) || die "clang-format $clang_major was not found, and other versions format differently"
  mapfile -t files < <(find framework layers models api apps python tests weights -type f \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' -o -name '*.c' \) 2>/dev/null |
    sort)
  [ "${#files[@]}" -gt 0 ] || die 'no source files found'
  if [ "$check" = no ]; then
    printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(jobs)" "$tool" -i --style=file
    say "formatted ${#files[@]} files with $tool"
    return 0
  fi
  # xargs returns 123 if clang-format found differences.
  differing=$(printf '%s\0' "${files[@]}" |
    xargs -0 -n 16 -P "$(jobs)" "$tool" --style=file --dry-run -Werror 2>&1) || status=$?
  if [ "$status" -eq 0 ]; then
    say "all ${#files[@]} files of C++ are formatted"
    return 0
  fi
  differing=$(sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: .*/\1: differs from .clang-format; run .\/dev format/p' \
    <<<"$differing" | sort -u)
  printf '%s\n' "$differing" >&2
  say "$(grep -c . <<<"$differing") of ${#files[@]} files of C++ are not formatted"
  return 1
}

# check_or_write_python yes|no: with ruff. Returns 1 if files differ.
check_or_write_python() {
  local check=$1 python_files differing status=0
  find_python_files
  [ "${#python_files[@]}" -gt 0 ] || return 0
  if ! setup_ruff; then
    say "skipped: pip could not install ruff (the reasons are in $log): Python is neither formatted nor checked"
    return 0
  fi
  if [ "$check" = no ]; then
    "$ruff" check --quiet --force-exclude --select I --fix "${python_files[@]}" || return 1
    "$ruff" format --quiet --force-exclude "${python_files[@]}" || return 1
    say "formatted ${#python_files[@]} files with $ruff"
    return 0
  fi
  differing=$("$ruff" format --check --quiet --output-format concise --force-exclude "${python_files[@]}" 2>&1) ||
    status=$?
  if [ "$status" -eq 0 ]; then
    say "all ${#python_files[@]} files of Python are formatted"
    return 0
  fi
  sed 's/^\(.*\):[0-9]*:[0-9]*: unformatted: .*/\1: differs from the format of ruff; run .\/dev format/' \
    <<<"$differing" >&2
  return 1
}

cmd_format() {
  local check=no failed=no
  while [ "$#" -gt 0 ]; do
    case $1 in
      --check) check=yes ;;
      *) usage_error "format: unknown option '$1'" ;;
    esac
    shift
  done
  check_or_write_cpp "$check" || failed=yes
  check_or_write_python "$check" || failed=yes
  [ "$failed" = no ] || die 'files are not formatted (their names are above)'
}
