#!/usr/bin/env bash
# No type, macro or include of CUDA, cuDNN, cuBLAS, NVTX or oneDNN in a public header (comments and strings aside).
# An internal header, which may use them, has the word "Internal" in its head comment.
#   check_public_headers.sh ROOT
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_headers.sh
. "$here/list_headers.sh"

mapfile -t headers < <(public_headers)
[ "${#headers[@]}" -gt 0 ] || { echo 'no headers found: wrong folder?' >&2; exit 1; }
awk '
  BEGIN {
    vendor = "cuda[A-Z][A-Za-z]*|CU[a-z]+_?t|cudnn[A-Z_a-z]*|cublas[A-Z_a-z]*|nvtx[A-Z][A-Za-z]*|dnnl_[a-z_]+|dnnl::"
    vendor = "(^|[^A-Za-z0-9_])(" vendor "|__global__|__device__|__host__|dim3)"
  }
  FNR == 1 { block = 0 }
  {
    text = $0
    include = text ~ /^[[:space:]]*#[[:space:]]*include/
    if (block) { if (!sub(/^.*\*\//, "", text)) next; block = 0 }
    if (!include) gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
    gsub(/\/\*[^*]*\*\//, "", text)
    sub(/\/\/.*$/, "", text)
    if (sub(/\/\*.*$/, "", text)) block = 1
    if ((include && text ~ /[<"](cuda|cudnn|cublas|curand|nvtx|nvToolsExt|nvrtc|mma|cooperative_groups|dnnl|oneapi)/) ||
        text ~ vendor) {
      printf "%s:%d: vendor type in a header that does not say it is Internal: %s\n", FILENAME, FNR, $0
      found = 1
    }
  }
  END { exit found }' "${headers[@]}"
vendors=$(vendor_includes "${headers[@]}")
if [ -n "$vendors" ]; then
  printf '%s\n' "${vendors//$'\t'/: not Internal, yet reaches a vendor type in: }" >&2
  exit 1
fi
printf '%d public headers are free of vendor types\n' "${#headers[@]}"
