# shellcheck shell=bash
# Sourced: prints headers of the library, relative to the root.
#   public_headers            for users: framework/, layers/, models/, api/, save those whose head comment says
# "Internal"
#   vendor_includes HEADER    the vendors' headers that it includes, directly or through ours

is_internal() {
  awk '!/^\/\// { exit !internal } /Internal/ { internal = 1 } END { exit !internal }' "$1"
}

all_headers() {
  find framework layers models api -name '*.h' -type f | sort
}

public_headers() {
  local header
  all_headers | while read -r header; do
    is_internal "$header" || printf '%s\n' "$header"
  done
}

vendor_includes() {
  local included
  local gpu='(cu|nv|mma|cooperative_groups|dnnl|oneapi)[^>"]*'
  sed -nE "s/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($gpu)[>\"].*/\1/p" "$1"
  # Includes of our own headers count too.
  while read -r included; do
    [ ! -e "$included" ] || vendor_includes "$included"
  done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)".*/\1/p' "$1")
}
