#!/usr/bin/env bash
# The tree is formatted.
#   check_format.sh ROOT
# Exit code 77 (skipped) if clang-format 14 is not installed; `./dev format --check` installs it.
set -euo pipefail
cd "$1"
for tool in clang-format-14 clang-format; do
  if command -v "$tool" >/dev/null 2>&1 && "$tool" --version | grep 'version 14\.' >/dev/null; then
    exec ./dev format --check
  fi
done
echo 'skipped: clang-format 14 is not installed (./dev setup --tests)'
exit 77
