# as_paths PATH…: an extended regular expression that matches these paths only as whole paths, so that a tree at
# /lenslet is not found in usr/lib/cmake/lenslet, nor in usr/lib/*/lenslet.
as_paths() {
  local path patterns=()
  for path; do
    patterns+=("$(printf '%s\n' "$path" | sed 's/[][\.*^$+?(){}|]/\\&/g')")
  done
  local IFS='|'
  printf '(^|-[IL]|[^]A-Za-z0-9._~%%+*})/-])(%s)(/|[^A-Za-z0-9._~%%+-]|$)' "${patterns[*]}"
}
