#!/usr/bin/env bash
# Completion in zsh: an interactive zsh on a terminal of its own sources the programs' scripts, receives lines and Tab,
# and prints every match that its compadd receives.
#   zsh_completion_test.sh LENSLET CONVBENCH
set -euo pipefail
if ! command -v zsh >/dev/null; then
  echo 'skipped: zsh is not installed (./dev setup --tests)'
  exit 77
fi
if ! zsh -fc 'zmodload zsh/zpty && zpty probe true' 2>/dev/null; then
  echo 'skipped: no pseudo-terminal can be opened here'
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/scripts" "$folder/work"
"$1" completion zsh >"$folder/scripts/_lenslet"
"$2" completion zsh >"$folder/scripts/_convbench"
zsh -n "$folder/scripts/_lenslet" && zsh -n "$folder/scripts/_convbench"
cd "$folder/work"
mkdir pictures
touch plan.json digit.png

# Start-up file of the shell under test.
cat >"$folder/setup" <<'SETUP'
PROMPT=
LISTMAX=10000
setopt no_auto_list no_beep
fpath=($SCRIPTS $fpath)
autoload -Uz compinit
compinit -D -u
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits before hidden
  local hit
  builtin compadd -A hits "$@"
  zparseopts -E P:=before p:=hidden
  for hit in $hits; do print -r -- $IPREFIX$before[2]$hidden[2]$hit >>$HITS; done
  builtin compadd "$@"
}
forget() { BUFFER=; print -r -- END >>$HITS }
zle -N forget
bindkey '^I' complete-word
bindkey '^T' forget
print -r -- END >>$HITS
SETUP

cat >"$folder/driver" <<'DRIVER'
zmodload zsh/zpty zsh/zselect
integer failures=0
export HITS=$PWD/../hits SCRIPTS=$PWD/../scripts
# Waits until the shell under test has written END, and reads its output, because the shell blocks if its buffer is
# full.
answer() {
  local text
  integer tries=0
  while (( tries++ < 30000 )); do
    zpty -r -t shell text
    [[ -e $HITS && "$(<$HITS)" == *END ]] && return 0
    zselect -t 1
  done
  print -u 2 'zsh does not answer'
  exit 1
}
zpty shell zsh -f -i
zpty -w shell "source ../setup"
answer
# expect LINE WORDS…: exactly these.  expect_some: among others.
matches() {
  : >$HITS
  zpty -w -n shell "$1"$'\t'$'\x14'
  answer
  sed '$d' $HITS | sort -u
}
expect() {
  local got=$(matches $1) wanted=$(print -rl -- ${@[2,-1]} | sort)
  [[ $got == $wanted ]] && return
  print -u 2 -r -- "after '$1' expected: ${wanted//$'\n'/ }; got: ${got//$'\n'/ }"
  (( ++failures ))
}
expect_some() {
  local got=$(matches $1) word
  for word in ${@[2,-1]}; do
    [[ $'\n'$got$'\n' == *$'\n'$word$'\n'* ]] && continue
    print -u 2 -r -- "after '$1' expected $word among: ${got//$'\n'/ }"
    (( ++failures ))
  done
}

expect 'lenslet ' classify eval profile tune bench report backends doctor inspect diff show serve explain completion man
expect 'convbench s' sweep streams separable stencil
expect_some 'lenslet doctor --' --seed --device --help
expect 'lenslet doctor --ex' ''
expect 'lenslet classify --math ' fp32 tf32 fp16 int8
expect_some 'lenslet classify --math=f' --math=fp32 --math=fp16
expect 'convbench run --layout ' nchw nhwc both
expect 'convbench reproduce ' a b c d e all
expect 'lenslet completion ' bash zsh
expect 'lenslet classify --limit ' ''
expect_some 'lenslet classify --plan ' auto layered fused plan.json
expect 'lenslet tune --plan ' auto layered fused
expect_some 'lenslet classify d' digit.png
expect_some 'lenslet classify --explain p' plan.json
expect 'lenslet bench --data ' pictures
expect_some 'lenslet bench --math fp32,' fp32,tf32 fp32,fp16
expect_some 'lenslet eval --backend ' direct auto conv1 fc3
expect_some 'lenslet eval --backend conv1=' conv1=direct conv1=winograd
expect 'lenslet eval --backend conv1=direct,po' conv1=direct,pool1 conv1=direct,pool2
expect_some 'convbench run --backend ' direct onednn
(( failures == 0 )) || { print -u 2 "$failures completions are wrong"; exit 1 }
print 'zsh completes commands, flags, values, lists and files'
DRIVER
zsh -f "$folder/driver"
