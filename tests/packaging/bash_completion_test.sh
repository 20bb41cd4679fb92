#!/usr/bin/env bash
# Completion in bash: sources the scripts that the programs print, completes lines and checks COMPREPLY.
#   bash_completion_test.sh LENSLET CONVBENCH
set -o pipefail  # an interactive shell has neither -e nor -u
lenslet=$(realpath "$1") convbench=$(realpath "$2")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/scripts" "$folder/work"
"$lenslet" completion bash >"$folder/scripts/lenslet.bash"
"$convbench" completion bash >"$folder/scripts/convbench.bash"
bash -n "$folder/scripts/lenslet.bash"
bash -n "$folder/scripts/convbench.bash"
# shellcheck source=/dev/null
. "$folder/scripts/lenslet.bash"
# shellcheck source=/dev/null
. "$folder/scripts/convbench.bash"

# Completes LINE with the cursor at its end, splitting it as bash does: at blanks, and around '=' and ':'.
complete_line() {
  local split
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
  split=$1
  if [ "${COMP_WORDBREAKS//=/}" != "$COMP_WORDBREAKS" ]; then split=${split//=/ = } split=${split//:/ : }; fi
  read -ra COMP_WORDS <<<"$split"
  if [[ $1 == *' ' ]]; then COMP_WORDS+=(''); fi
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  "_${COMP_WORDS[0]}"
}

# expect LINE WORDS…: exactly these, in any order.
expect() {
  local line=$1 got wanted
  shift
  complete_line "$line"
  got=$(printf '%s\n' "${COMPREPLY[@]}" | sort)
  wanted=$(printf '%s\n' "$@" | sort)
  if [ "$got" != "$wanted" ]; then
    printf "after '%s' expected\n%s\ngot\n%s\n" "$line" "${wanted//$'\n'/ }" "${got//$'\n'/ }" >&2
    failures=$((failures + 1))
  fi
}
# expect_some LINE WORDS…: these and possibly others.
expect_some() {
  local line=$1 word
  shift
  complete_line "$line"
  for word in "$@"; do
    if [[ " ${COMPREPLY[*]} " != *" $word "* ]]; then
      printf "after '%s' expected %s among: %s\n" "$line" "$word" "${COMPREPLY[*]}" >&2
      failures=$((failures + 1))
    fi
  done
}

cd "$folder/work" || exit 1
mkdir pictures 'two words'
touch plan.json other.json digit.png 'a picture.png' pictures/one.png

expect 'lenslet ' classify eval profile tune bench report backends doctor inspect diff show serve explain completion man
expect 'lenslet cl' classify
expect 'lenslet --' --help --version
expect 'convbench s' sweep streams separable stencil
expect 'lenslet nonsense ' ''
# Only the flags of the command.
expect 'lenslet doctor --s' --seed
expect 'lenslet classify --e' --explain
expect 'lenslet eval --ex' ''
expect_some 'convbench run -' -h --problem --layout --resume
# Values: after a blank and after '='.
expect 'lenslet classify --math ' fp32 tf32 fp16 int8
expect 'lenslet classify --math=' fp32 tf32 fp16 int8
expect 'lenslet classify --math=f' fp32 fp16
expect 'lenslet eval --device ' auto cpu cuda
expect 'lenslet eval --device=cu' cuda
expect 'convbench run --layout n' nchw nhwc
expect 'convbench run --layout=' nchw nhwc both
expect 'convbench reproduce ' a b c d e all
expect 'convbench reproduce a --cache ' cold hot both
expect 'lenslet completion ' bash zsh
# Free text offers nothing, and its placeholder is no flag.
expect 'lenslet classify --limit ' ''
expect 'lenslet classify --explain --limit=' ''
# Words or a file.
expect 'lenslet classify --plan ' auto layered fused plan.json other.json digit.png 'a picture.png' pictures 'two words'
expect 'lenslet classify --plan=pl' plan.json
expect 'lenslet tune --plan ' auto layered fused
expect 'convbench filter --output ' digit.png 'a picture.png' pictures 'two words'
expect 'convbench compare ot' other.json
expect 'convbench compare ' plan.json other.json pictures 'two words'
expect 'lenslet bench --data ' pictures 'two words'
expect 'lenslet classify pictures/' pictures/one.png
expect 'lenslet classify digit.png p' plan.json pictures
expect 'lenslet classify --json=pictures/' pictures/one.png
expect 'lenslet classify -- --p' ''
# Comma-separated lists: a word that is in the list is not offered again.
expect 'lenslet bench --math ' fp32 tf32 fp16 int8
expect 'lenslet bench --math fp32,' fp32,tf32 fp32,fp16 fp32,int8
expect 'lenslet bench --math=fp32,t' fp32,tf32
expect_some 'convbench run --backend ' all direct winograd implicit_gemm onednn
expect 'convbench run --backend direct,im2' direct,im2col_gemm
# By layer: bash replaces the part after the last '='.
expect_some 'lenslet eval --backend ' auto direct conv1= fc3= '*='
expect_some 'lenslet eval --backend conv1=' direct winograd auto
expect 'lenslet eval --backend conv1=dir' direct
expect 'lenslet eval --backend=conv1=direct,conv2=im2' im2col_gemm
expect 'lenslet eval --backend conv1=direct,po' direct,pool1= direct,pool2=
# The same if '=' does not split words.
COMP_WORDBREAKS=$' \t\n'
expect 'lenslet classify --math=f' --math=fp32 --math=fp16
expect 'lenslet eval --backend conv1=dir' conv1=direct
expect 'lenslet classify --plan=pl' --plan=plan.json

# The same in an interactive bash, where readline splits words, quotes file names and adds spaces: Ctrl-O completes,
# Ctrl-P inserts every match, Ctrl-T writes the line. Readline accepts a pipe instead of a terminal, so no
# pseudo-terminal is needed; setsid detaches the shell from the terminal of the test.
cat >"$folder/rc" <<'RC'
. ../scripts/lenslet.bash
. ../scripts/convbench.bash
bind 'set completion-query-items 0'
bind '"\C-o": complete'
bind '"\C-p": insert-completions'
tell() { printf '%s|\n' "$READLINE_LINE" >>../told; READLINE_LINE=''; }
bind -x '"\C-t": tell'
PROMPT_COMMAND='touch ../ready'
RC
# wait_for COMMAND…: five minutes at most.
wait_for() {
  local i
  for ((i = 0; i < 15000; ++i)); do
    "$@" && return
    sleep 0.02
  done
  echo 'the interactive bash does not answer' >&2
  return 1
}
told_lines() { [ "$(wc -l <"$folder/told")" -eq "$1" ]; }
# typed KEYS LINE: after these keys the line is LINE.
typed() {
  local keys=$1 wanted=$2 told
  : >"$folder/told"
  printf '%b\x14' "$keys" >&3
  wait_for told_lines 1 || exit 1
  told=$(cat "$folder/told")
  if [ "$told" != "$wanted|" ]; then
    printf "typed '%s', expected '%s', got '%s'\n" "$keys" "$wanted" "${told%|}" >&2
    failures=$((failures + 1))
  fi
}
mkfifo "$folder/keys"
setsid bash --noprofile --rcfile ../rc -i <"$folder/keys" >/dev/null 2>&1 &
exec 3>"$folder/keys"
wait_for test -e "$folder/ready" || exit 1
typed 'lenslet cl\x0f' 'lenslet classify '
typed 'lenslet classify --math=tf\x0f' 'lenslet classify --math=tf32 '
typed 'lenslet classify --math=\x10' 'lenslet classify --math=fp16 fp32 int8 tf32 '
typed 'lenslet classify --plan=l\x0f' 'lenslet classify --plan=layered '
typed 'lenslet eval --backend conv1\x0f' 'lenslet eval --backend conv1='
typed 'lenslet eval --backend conv1=direct,conv2=im2\x0f' 'lenslet eval --backend conv1=direct,conv2=im2col_gemm '
typed 'lenslet classify --json=pict\x0f' 'lenslet classify --json=pictures/'
typed 'lenslet classify "a pi\x0f' 'lenslet classify "a picture.png" '
typed 'lenslet classify a\\ pi\x0f' 'lenslet classify a\ picture.png '
typed 'lenslet classify a\x0f' 'lenslet classify a\ picture.png '
printf '\x15exit\n' >&3
exec 3>&-
wait

[ "$failures" -eq 0 ] || { printf '%d completions are wrong\n' "$failures" >&2; exit 1; }
echo 'bash completes commands, flags, values, lists and files'
