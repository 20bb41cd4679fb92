#!/usr/bin/env bash
# Every kept result file states schema, commit and machine, and none is of a modified tree without a reason. The numbers
# of README.md, docs/results.md and docs/kernels/ equal those of the files: the pages have the text that
# docs/results/update_readme.py would write.
#   check_results.sh ROOT
set -euo pipefail
cd "$1"
if ! command -v python3 >/dev/null; then
  echo 'skipped: python3 is not installed (./dev setup --tests): the pages are not compared with the result files'
  exit 77
fi
python3 docs/results/provenance.py docs/results
# shellcheck disable=SC2016  # the backticks are README's
folder='(\(docs\/results\/[^)]*\))'
folders=$(sed -n "s/^From [^(]*${folder}[^(]*${folder}.*, by \`docs\/results\/update_readme.py\`.*/\1 \2/p" README.md)
if [ -z "$folders" ]; then
  echo 'README.md does not say from which folders of docs/results its numbers come' >&2
  exit 1
fi
# shellcheck disable=SC2086  # two folders
python3 docs/results/update_readme.py $folders --check
