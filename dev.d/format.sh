# shellcheck shell=bash
# ./dev format

# Prints the clang-format of the right major version.
find_clang_format() {
  local candidate
  for candidate in "clang-format-$clang_format_major" clang-format; do
    if has_program "$candidate" && "$candidate" --version | grep -E "version $clang_format_major\." >/dev/null; then
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
      *) usage_error "format does not know '$1'" ;;
    esac
    shift
  done
  if ! find_clang_format >/dev/null && has_program apt-get; then
    install_missing required "program clang-format-$clang_format_major|clang-format-$clang_format_major"
  fi
  tool=$(find_clang_format) || die "clang-format $clang_format_major is needed (others format differently) and was not found"
  local files=()
  mapfile -t files < <(find framework layers models api apps python tests weights -type f \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null | sort)
  [ "${#files[@]}" -gt 0 ] || die 'no source files found'
  if [ "$check" = no ]; then
    printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(jobs)" "$tool" -i --style=file
    say "formatted ${#files[@]} files with $tool"
    return 0
  fi
  local file differing=0
  for file in "${files[@]}"; do
    if ! "$tool" --style=file "$file" | cmp -s - "$file"; then
      printf '%s: differs from .clang-format; run ./dev format\n' "$file" >&2
      differing=$((differing + 1))
    fi
  done
  [ "$differing" -eq 0 ] || die "$differing of ${#files[@]} files are not formatted"
  say "all ${#files[@]} files are formatted"
}
