# shellcheck shell=bash
# Sourced: prints headers of the library, relative to the root.
#   public_headers            for users: framework/, layers/, models/, save those whose head comment says "Internal"
#   headers_with_cuda         internal ones that include CUDA's headers, so they need a toolkit

is_internal() {
  awk '!/^\/\// { exit !internal } /Internal/ { internal = 1 } END { exit !internal }' "$1"
}

all_headers() {
  find framework layers models -name '*.h' -type f | sort
}

public_headers() {
  local header
  all_headers | while read -r header; do
    is_internal "$header" || printf '%s\n' "$header"
  done
}

headers_with_cuda() {
  local header
  all_headers | while read -r header; do
    if is_internal "$header" && grep -Eq '^[[:space:]]*#[[:space:]]*include[[:space:]]*<(cu|nv)' "$header"; then
      printf '%s\n' "$header"
    fi
  done
}
