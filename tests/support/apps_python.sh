#!/usr/bin/env bash
# Runs a Python script with the packages that ./dev test --apps installs.
#   apps_python.sh [--package] SCRIPT ARGUMENTS…
# --package: with the package lenslet, which ./dev python installs.
set -euo pipefail
build=$(dirname "${BASH_SOURCE[0]}")/../../build
python=$build/apps/venv/bin/python
reason='./dev test --apps has not installed the packages of tests/apps_requirements.txt'
if [ "${1-}" = --package ]; then
  shift
  python=$build/python/venv/bin/python
  reason='./dev python has not installed the package'
fi
if [ ! -x "$python" ]; then
  echo "skipped: $reason"
  exit 77
fi
exec "$python" -B "$@"
