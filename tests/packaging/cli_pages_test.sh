#!/usr/bin/env bash
# Manual page and completions contain every command and flag of --help, and no other; and the page is well-formed.
#   cli_pages_test.sh PROGRAM…
set -euo pipefail
export COLUMNS=1000  # --help breaks no line at this width
failures=0
bad() {
  printf '%s\n' "$*" >&2
  failures=$((failures + 1))
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Names of options at the beginning of a --help line: "  -h,--help   Print…".
flags_of_help() { sed -nE 's/^  (-[-a-z0-9,]+).*/\1/p' | tr ',' '\n' | sort; }
# The same of a manual page: the line after .TP begins with them in bold.
flags_of_page() { grep -A 1 '^\.TP$' | sed 's/\\-/-/g' | grep -oE '\\fB--?[a-z0-9-]+' | sed 's/\\fB//' | sort; }
# section_of_page COMMAND: its part of the page on standard input.
section_of_page() { awk -v wanted=".SS $1" '/^\.S[SH] / { inside = $0 == wanted } inside'; }
# The same of the specifications for zsh.
flags_of_zsh() { sed -nE "s/^ +'(\([^)]*\)|\*)?(-[a-z0-9-]+)=?\[.*/\2/p" | sort; }

same() {
  local about=$1
  diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") >"$folder/diff" ||
    bad "$about differ from --help: $(grep '^[<>]' "$folder/diff" | tr '\n' ' ')"
}

for program in "$@"; do
  name=$(basename "$program")
  "$program" man >"$folder/$name.1"
  "$program" completion bash >"$folder/$name.bash"
  "$program" completion zsh >"$folder/_$name"
  # shellcheck source=/dev/null
  . "$folder/$name.bash"
  commands=$("$program" --help | sed -nE '/^Subcommands:/,/^$/s/^  ([a-z]+) .*/\1/p' | sort)
  [ -n "$commands" ] || bad "$name --help lists no commands"
  same "$name: the page's commands" "$commands" "$(sed -n 's/^\.SS //p' "$folder/$name.1" | sort)"
  same "$name: zsh's commands" "$commands" \
    "$(sed -nE '/^  commands=\(/,/^  \)/s/^    .([a-z]+):.*/\1/p' "$folder/_$name" | sort)"
  general=$("$program" --help | flags_of_help)
  same "$name: the page's options" "$general" "$(sed '/^\.SH COMMANDS/,$d' "$folder/$name.1" | flags_of_page)"
  same "$name: bash's options" "$general" "$("_${name}_options" '' | tr ' ' '\n' | sort)"
  same "$name: zsh's options" "$general" "$(sed '/case \$line/,$d' "$folder/_$name" | flags_of_zsh)"
  counted=0
  for command in $commands; do
    flags=$("$program" "$command" --help | flags_of_help)
    same "$name $command: the page's flags" "$flags" \
      "$(section_of_page "$command" <"$folder/$name.1" | flags_of_page)"
    same "$name $command: bash's flags" "$flags" "$("_${name}_options" "$command" | tr ' ' '\n' | sort)"
    same "$name $command: zsh's flags" "$flags" "$(sed -n "/^    $command)\$/,/;;/p" "$folder/_$name" | flags_of_zsh)"
    counted=$((counted + $(wc -l <<<"$flags")))
  done
  [ "$counted" -gt 50 ] || bad "$name: only $counted flags were found in --help; was its form changed?"

  # The page has the examples and exit codes of --help.
  page=$(sed -e 's/\\-/-/g' -e 's/\\(ga/`/g' -e 's/\\(ti/~/g' -e 's/\\(ha/^/g' -e 's/\\e/\\/g' "$folder/$name.1")
  while IFS= read -r example; do
    grep -Fxq -- "$example" <<<"$page" || bad "$name: the page lacks the example$example"
  done < <(for command in $commands; do "$program" "$command" --help | grep -E "^  $name "; done)
  statuses=$(sed -n '/^\.SH "EXIT STATUS"/,/^\.SH ENV/p' "$folder/$name.1")
  for code in 0 1 2 3 4 5 6 7 130; do
    grep -Fxq "\\fB$code\\fR" <<<"$statuses" || bad "$name: the page lacks exit status $code"
  done

  # Well-formed: the formatters print no warning.
  if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$folder/$name.1" >"$folder/lint" || bad "mandoc: $(cat "$folder/lint")"
  else
    echo 'skipped: mandoc is not installed (./dev setup --tests): the page is not checked with it'
  fi
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -P-c -P-b -P-u -ww "$folder/$name.1" >"$folder/text" 2>"$folder/lint"
    [ ! -s "$folder/lint" ] || bad "groff: $(cat "$folder/lint")"
    grep -q 'EXIT STATUS' "$folder/text" || bad "groff's rendering of $name.1 has no EXIT STATUS"
  else
    echo 'skipped: groff is not installed (./dev setup --tests): the page is not checked with it'
  fi
done
[ "$failures" -eq 0 ] || exit 1
echo 'page and completions agree with --help'
