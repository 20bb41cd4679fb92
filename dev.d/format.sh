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

cmd_format() {
  local check=no tool
  while [ "$#" -gt 0 ]; do
    case $1 in
      --check) check=yes ;;
      *) usage_error "format: unknown option '$1'" ;;
    esac
    shift
  done
  if ! find_clang format >/dev/null && has_program apt-get; then
    install_missing required "program clang-format-$clang_major|clang-format-$clang_major"
  fi
  tool=$(find_clang format) || die "clang-format $clang_major was not found, and other versions format differently"
  local files=()
  mapfile -t files < <(find framework layers models api apps python tests weights -type f \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.c' \) 2>/dev/null | sort)
  [ "${#files[@]}" -gt 0 ] || die 'no source files found'
  if [ "$check" = no ]; then
    printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(jobs)" "$tool" -i --style=file
    say "formatted ${#files[@]} files with $tool"
    return 0
  fi
  # xargs returns 123 if clang-format found differences.
  local differing status=0
  differing=$(printf '%s\0' "${files[@]}" |
    xargs -0 -n 16 -P "$(jobs)" "$tool" --style=file --dry-run -Werror 2>&1) || status=$?
  differing=$(sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: .*/\1: differs from .clang-format; run .\/dev format/p' \
    <<<"$differing" | sort -u)
  if [ "$status" -ne 0 ]; then
    printf '%s\n' "$differing" >&2
    die "$(grep -c . <<<"$differing") of ${#files[@]} files are not formatted"
  fi
  say "all ${#files[@]} files are formatted"
}
