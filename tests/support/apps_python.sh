#!/usr/bin/env bash
# Runs a Python script with the packages that ./dev test --apps installs.
#   apps_python.sh SCRIPT ARGUMENTS…
set -euo pipefail
python=$(dirname "${BASH_SOURCE[0]}")/../../build/apps/venv/bin/python
if [ ! -x "$python" ]; then
  echo 'skipped: ./dev test --apps has not installed the packages of tests/apps_requirements.txt'
  exit 77
fi
exec "$python" -B "$@"
