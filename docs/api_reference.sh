#!/usr/bin/env bash
# Writes the API reference as HTML from the public headers; fails if a public symbol has no comment.
#   docs/api_reference.sh OUTPUT_FOLDER [ROOT]
# Exit code 77 if doxygen is not installed.
set -euo pipefail
command -v doxygen >/dev/null || { echo 'skipped: doxygen is not installed (./dev docs installs it)'; exit 77; }
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "${2:-$(dirname "${BASH_SOURCE[0]}")/..}"
# shellcheck source=tests/tree/list_headers.sh
. tests/tree/list_headers.sh
{
  cat docs/Doxyfile
  printf 'OUTPUT_DIRECTORY = "%s"\nINPUT = docs/api_reference.md' "$output"
  public_headers | sed 's/.*/ "&"/' | tr -d '\n'
  printf '\n'
} | doxygen -
[ -s "$output/html/index.html" ] || { echo "doxygen wrote no $output/html/index.html" >&2; exit 1; }
printf '%d public headers, every symbol documented: %s/html/index.html\n' "$(public_headers | wc -l)" "$output"
